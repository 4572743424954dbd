"""What a quantised model says of an activation's scale elsewhere: in the bias that is added to it.

A bias is stored in steps of (scale of the input) × (scale of the weight), so that integers can be
added. The quotient is the scale that the input had when the model was made, whatever the
quantiser in front of it says now.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from isomorph.core.case import Case
    from isomorph.core.model import Node

_LINEAR = frozenset({"Conv", "ConvTranspose", "Gemm"})
_CLOSE = 1e-4
"""Scales are float32 products: they agree to far more digits, or they are others."""


def stated_scale(case: Case, tensor: str) -> float | None:
    """The scale that the biases behind a dequantised tensor imply; None unless they agree."""
    maker = {name: node for node in case.candidate.nodes for name in node.outputs}
    found: list[float] = []
    for node in case.candidate.nodes:
        if node.op not in _LINEAR or node.inputs[0] != tensor or len(node.inputs) < 3:
            continue
        weight, bias = (_scale(case, maker.get(node.inputs[place])) for place in (1, 2))
        if weight is not None and bias is not None and weight.size and bias.size:
            quotient = np.broadcast_arrays(bias.reshape(-1), weight.reshape(-1))
            found += list((quotient[0] / quotient[1]).tolist())
    if not found or not np.isfinite(found).all():
        return None
    middle = float(np.median(found))
    return middle if all(same_scale(each, middle) for each in found) else None


def same_scale(one: float, other: float) -> bool:
    """Whether two scales are one number but for the rounding of their products."""
    return abs(one - other) <= _CLOSE * abs(other)


def _scale(
    case: Case, node: Node | None
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]] | None:
    if node is None or node.op != "DequantizeLinear":
        return None
    value = case.constant(case.candidate, node.inputs[1])
    return None if value is None else np.asarray(value, np.float64)
