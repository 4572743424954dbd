"""What the activations mean that TFLite's operators fuse, for proofs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from isomorph.proof import spelling as spell
from isomorph.proof.term import NoMeaningError, Term

if TYPE_CHECKING:
    from isomorph.proof.calls import Call

_BOUNDS: Mapping[str, tuple[float | None, float | None]] = {
    "NONE": (None, None),
    "RELU": (0.0, None),
    "RELU6": (0.0, 6.0),
    "RELU_N1_TO_1": (-1.0, 1.0),
}
"""Kernels do not agree on what they do with any other one."""


def fused(call: Call, y: Term) -> Term:
    """A result behind the activation that the operator states."""
    stated = call.needs("fused_activation_function")
    if stated not in _BOUNDS:
        raise NoMeaningError(f"a fused {stated}")
    low, high = _BOUNDS[stated]
    if low is None:
        return y
    if not y.is_float:
        raise NoMeaningError(f"a fused {stated} of {y.dtype}")
    t = call.terms
    above = None if high is None else t.number(high, y.dtype)
    return spell.clip(t, y, t.number(low, y.dtype), above)
