"""The scale of an activation as the scale of the bias that is added to it implies it.

A bias is stored in steps of (scale of the input) × (scale of the weight), so that integers can be
added. The quotient is the scale that the input had when the model was made, whatever the
scale of its quantizer is now.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from isomorph.diagnose.constant_diff import ROUNDING

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.model import Node
    from isomorph.core.trace import Array

_LINEAR = frozenset({"Conv", "ConvTranspose", "Gemm"})


def stated_scale(context: FaultContext, tensor: str) -> float | None:
    """The scale that the biases behind a dequantized tensor imply; None unless they agree."""
    found: list[float] = []
    for node in context.candidate.nodes:
        if node.op in _LINEAR and node.inputs[0] == tensor:
            _, weight, bias = (_scale(context, maker) for maker in _dequantizers(context, node))
            if weight is not None and bias is not None and weight.size and bias.size:
                found += _quotient(bias, weight).tolist()
    if not found or not np.isfinite(found).all():
        return None
    middle = float(np.median(found))
    return middle if all(same_scale(each, middle) for each in found) else None


def stated_by_the_others(context: FaultContext) -> Iterator[tuple[str, Array]]:
    """For each linear node here, the scale of its weight and of its bias from the other two."""
    for node in context.nodes:
        if node.op not in _LINEAR:
            continue
        makers = _dequantizers(context, node)
        data, weight, bias = (_scale(context, maker) for maker in makers)
        if data is None or weight is None or bias is None or data.size != 1:
            continue
        for maker, now, meant in (
            (makers[1], weight, _quotient(bias, data)),
            (makers[2], bias, weight.reshape(-1) * data.reshape(-1)),
        ):
            wrong = now.size == meant.size and not np.allclose(now.reshape(-1), meant, ROUNDING, 0)
            if maker is not None and wrong:
                yield maker.inputs[1], meant.reshape(now.shape)


def _dequantizers(context: FaultContext, node: Node) -> list[Node | None]:
    """What makes the data, the weight and the bias of a linear node."""
    maker = {name: each for each in context.candidate.nodes for name in each.outputs}
    return [maker.get(node.inputs[p]) if p < len(node.inputs) else None for p in range(3)]


def _quotient(above: Array, below: Array) -> Array:
    one, other = np.broadcast_arrays(above.reshape(-1), below.reshape(-1))
    quotient: Array = one / other
    return quotient


def same_scale(one: float, other: float) -> bool:
    """Whether two scales are one number but for the rounding of their products."""
    return abs(one - other) <= ROUNDING * abs(other)


def _scale(context: FaultContext, node: Node | None) -> Array | None:
    if node is None or node.op != "DequantizeLinear" or len(node.inputs) < 2:
        return None
    value = context.constant(context.candidate, node.inputs[1])
    return None if value is None else np.asarray(value, np.float64)
