"""Activations that have more than one formula, recognized by their values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from isomorph.kernels.activations import gelu, sigmoid, softplus
from isomorph.match.topology import Topology
from isomorph.oracle.sizes import rms, rms_and_peak

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.trace import Array


class Form(StrEnum):
    """A formula of an activation, as it is named in a finding."""

    GELU_ERF = "GELU in its erf form"
    GELU_TANH = "GELU in its tanh form"
    GELU_SIGMOID = "GELU by a sigmoid"
    SILU = "SiLU"
    HARD_SWISH = "hard swish"
    HARD_SIGMOID_SIXTH = "a hard sigmoid with slope 1/6"
    HARD_SIGMOID_FIFTH = "a hard sigmoid with slope 0.2"
    SIGMOID = "a sigmoid"
    TANH = "tanh"
    RELU = "ReLU"
    RELU6 = "ReLU6"
    RELU1 = "ReLU cut at 1"
    ELU = "ELU"
    SELU = "SELU"
    SOFTPLUS = "softplus"
    SOFTSIGN = "softsign"
    MISH = "Mish"
    IDENTITY = "the identity"


_FORMS: Mapping[Form, Callable[[Array], Array]] = {
    Form.GELU_ERF: lambda x: gelu(x, tanh=False),
    Form.GELU_TANH: lambda x: gelu(x, tanh=True),
    Form.GELU_SIGMOID: lambda x: x * sigmoid(1.702 * x),
    Form.SILU: lambda x: x * sigmoid(x),
    Form.HARD_SWISH: lambda x: x * np.clip(x / 6.0 + 0.5, 0.0, 1.0),
    Form.HARD_SIGMOID_SIXTH: lambda x: np.clip(x / 6.0 + 0.5, 0.0, 1.0),
    Form.HARD_SIGMOID_FIFTH: lambda x: np.clip(0.2 * x + 0.5, 0.0, 1.0),
    Form.SIGMOID: sigmoid,
    Form.TANH: np.tanh,
    Form.RELU: lambda x: np.maximum(x, 0.0),
    Form.RELU6: lambda x: np.clip(x, 0.0, 6.0),
    Form.RELU1: lambda x: np.clip(x, 0.0, 1.0),
    Form.ELU: lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0.0))),
    Form.SELU: lambda x: (
        1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(np.minimum(x, 0.0)))
    ),
    Form.SOFTPLUS: softplus,
    Form.SOFTSIGN: lambda x: x / (1.0 + np.abs(x)),
    Form.MISH: lambda x: x * np.tanh(softplus(x)),
    Form.IDENTITY: lambda x: x,
}


_FAMILIES = (
    frozenset({Form.GELU_ERF, Form.GELU_TANH, Form.GELU_SIGMOID}),
    frozenset({Form.HARD_SIGMOID_SIXTH, Form.HARD_SIGMOID_FIFTH}),
    frozenset({Form.RELU, Form.RELU6, Form.RELU1}),
)
"""Forms of one function that differ in a parameter; any others are distinct functions."""
_ROUNDINGS = 8.0 * float(np.finfo(np.float32).eps)


def forms(context: FaultContext) -> tuple[Form | None, Form | None]:
    """What the candidate and the reference compute from the one tensor that goes in."""
    topology = Topology(context.candidate)
    own = {name for node in context.nodes for name in node.outputs}
    sources = {name for node in context.nodes for name in topology.sources(node)} - own
    if len(sources) != 1 or context.wrong.shape != context.right.shape:
        return None, None
    if not (np.isfinite(context.wrong).all() and np.isfinite(context.right).all()):
        return None, None  # an overflow shows no formula
    x = context.value(context.candidate, next(iter(sources)))
    if x is None or x.dtype.kind != "f" or x.shape != context.right.shape or not x.size:
        return None, None
    with np.errstate(all="ignore"):
        values = {name: np.asarray(form(x.astype(np.float64))) for name, form in _FORMS.items()}
    ref = next((name for name, value in values.items() if context.equals(value)), None)
    if ref is None:
        return None, None
    # Rounded constants of a spelled-out form move it by a few roundings, as they moved the
    # reference; a formula that is farther off is not the one.
    allowed = 4.0 * rms_and_peak(values[ref], context.right)[0] + _ROUNDINGS * rms(context.wrong)
    gaps = {
        name: rms_and_peak(value, context.wrong)[0] for name, value in values.items() if name != ref
    }
    cand = min(gaps, key=lambda name: gaps[name])
    return (cand if gaps[cand] <= allowed else None), ref


def related(cand: Form, ref: Form) -> bool:
    """Whether two forms are those of one function."""
    return any(cand in each and ref in each for each in _FAMILIES)
