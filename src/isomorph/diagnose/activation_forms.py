"""Activations that have more than one formula, recognized by their values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from isomorph.kernels.activations import gelu, sigmoid, softplus
from isomorph.match.tensor_capture import rms_and_peak
from isomorph.match.topology import Topology

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.trace import Array


_FORMS: Mapping[str, Callable[[Array], Array]] = {
    "GELU in its erf form": lambda x: gelu(x, tanh=False),
    "GELU in its tanh form": lambda x: gelu(x, tanh=True),
    "GELU by a sigmoid": lambda x: x * sigmoid(1.702 * x),
    "SiLU": lambda x: x * sigmoid(x),
    "hard swish": lambda x: x * np.clip(x / 6.0 + 0.5, 0.0, 1.0),
    "a hard sigmoid with slope 1/6": lambda x: np.clip(x / 6.0 + 0.5, 0.0, 1.0),
    "a hard sigmoid with slope 0.2": lambda x: np.clip(0.2 * x + 0.5, 0.0, 1.0),
    "a sigmoid": sigmoid,
    "tanh": np.tanh,
    "ReLU": lambda x: np.maximum(x, 0.0),
    "ReLU6": lambda x: np.clip(x, 0.0, 6.0),
    "ReLU cut at 1": lambda x: np.clip(x, 0.0, 1.0),
    "ELU": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0.0))),
    "SELU": lambda x: (
        1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(np.minimum(x, 0.0)))
    ),
    "softplus": softplus,
    "softsign": lambda x: x / (1.0 + np.abs(x)),
    "Mish": lambda x: x * np.tanh(softplus(x)),
    "the identity": lambda x: x,
}


_FAMILIES = ("GELU", "a hard sigmoid", "ReLU")
"""Prefixes of forms of one function that differ in a parameter; others are distinct functions."""
_ROUNDINGS = 8.0 * float(np.finfo(np.float32).eps)


def forms(context: FaultContext) -> tuple[str | None, str | None]:
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
    allowed = 4.0 * rms_and_peak(values[ref], context.right)[0] + _ROUNDINGS * _size(context.wrong)
    gaps = {
        name: rms_and_peak(value, context.wrong)[0] for name, value in values.items() if name != ref
    }
    cand = min(gaps, key=lambda name: gaps[name])
    return (cand if gaps[cand] <= allowed else None), ref


def related(cand: str, ref: str) -> bool:
    """Whether two forms are those of one function."""
    return any(cand.startswith(each) and ref.startswith(each) for each in _FAMILIES)


def _size(array: Array) -> float:
    with np.errstate(all="ignore"):
        return float(np.sqrt(np.mean(np.square(array.astype(np.float64)))))
