"""Whether integers that a node computes stay within their type, where arithmetic wraps around.

A transformer bounds real numbers by runs at the ends of the inputs. Of integers, such a run may
wrap at an end and not in between, or the other way round, so its results bound nothing.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from isomorph.bounds.node_inputs import NodeInputs

_CHOSEN = frozenset({
    "Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Slice", "Split",
    "Concat", "Expand", "Tile", "Pad", "DepthToSpace", "SpaceToDepth", "Trilu", "Reverse",
    "Relu", "Max", "Min", "Clip", "MaxPool", "GlobalMaxPool", "ReduceMax", "ReduceMin",
    "Sign", "Floor", "Ceil", "Round", "Stack", "Unstack", "SpaceToBatch", "BatchToSpace",
    "Gather", "GatherElements", "GatherND", "Where", "Dropout", "QuantizeLinear",
})  # fmt: skip
"""Operators whose results are among their inputs, or nearer to zero, or saturate."""

_BELOW_ZERO = frozenset({"Sub", "Neg"})
"""Operators whose result may be below zero though no input is."""


def may_wrap(inputs: NodeInputs, facts: np.iinfo[np.signedinteger]) -> bool:
    """Whether a result may lie outside this type before the type holds it."""
    op = inputs.node.op
    if op in _CHOSEN:
        return False
    if op == "Cast":
        first = inputs.interval(0)
        return first is None or first.least < facts.min or first.most > facts.max
    sizes = [_size(inputs, place) for place in range(len(inputs.node.inputs))]
    reach = _REACHES.get(op)
    if reach is None or None in sizes or (facts.min == 0 and op in _BELOW_ZERO):
        return True
    # Float64 rounds what is near the largest int64.
    return not reach(inputs, [size for size in sizes if size is not None]) < float(facts.max)


def _size(inputs: NodeInputs, place: int) -> float | None:
    """The largest absolute value of an input; that of an absent one is zero."""
    return inputs.magnitude(place) if inputs.node.input(place) else 0.0


def _all(inputs: NodeInputs, sizes: list[float]) -> float:
    """Of a sum of the inputs, of which one may have a factor."""
    factor = inputs.attribute("alpha", default=1)
    return sum(sizes) * max(1.0, abs(factor)) if isinstance(factor, (int, float)) else math.inf


def _elements(inputs: NodeInputs, sizes: list[float]) -> float:
    """Of a sum of elements of the first input."""
    return sizes[0] * inputs.intervals[inputs.node.inputs[0]].lower.size


def _products(inputs: NodeInputs, sizes: list[float]) -> float:
    """Of sums of products along the last axis of the first matrix."""
    shape = np.shape(inputs.runs.sample[inputs.node.inputs[0]])
    return math.prod(sizes[:2]) * (shape[-1] if shape else 1)


def _first(_: NodeInputs, sizes: list[float]) -> float:
    return sizes[0]


_REACHES: Mapping[str, Callable[[NodeInputs, list[float]], float]] = {
    **dict.fromkeys(("Add", "Sub", "Sum"), _all),
    "Mul": lambda _, sizes: math.prod(sizes),
    **dict.fromkeys(("Neg", "Abs", "Div", "FloorDiv"), _first),
    **dict.fromkeys(("ReduceSum", "ReduceMean", "CumSum"), _elements),
    "MatMul": _products,
}
"""The largest absolute value of what an operator computes in whole numbers."""
