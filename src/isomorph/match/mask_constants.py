"""Whether a very negative constant hides other data, because the result is exponentiated.

Masks of −1e4 and −1e9 that are added before a softmax have the same effect: zero. A bias of −1000
before a rectifier has none of this: there, another number is another function.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.ops import KEEPS_NUMBERS

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.match.stored_weights import WeightReader, Weights

VANISHED = float(math.ceil(-math.log(np.finfo(np.float64).smallest_subnormal)))
"""exp(−x) is below the smallest number of float64: what is smaller than −x and added before a
softmax has the same effect."""

_NOT_EXPONENTIAL = frozenset(
    {"Relu", "LeakyRelu", "PRelu", "ThresholdedRelu", "HardSwish", "HardSigmoid", "Abs", "Sign",
     "Floor", "Ceil", "Round", "MatMul", "Gemm", "Einsum", "Conv", "ConvTranspose", "MaxPool",
     "AveragePool", "GlobalMaxPool", "GlobalAveragePool", "ReduceMax", "ReduceMin", "ReduceSum",
     "ReduceMean", "ArgMax", "ArgMin", "TopK", "Greater", "Less", "GreaterOrEqual", "LessOrEqual"}
)  # fmt: skip
"""Operators that no softmax starts with: what is added before them is no mask of a later one."""
_HANDS_ON_SIGNAL = KEEPS_NUMBERS | {
    "Add", "Sub", "Mul", "Div", "Where", "Concat", "Expand", "Slice", "Split", "Gather", "Tile",
    "Pad", "Max", "Min", "Clip",
}  # fmt: skip
_LIMITS_BELOW = frozenset({"Clip", "Max"})


def may_exponentiate(side: Weights, reader: WeightReader) -> bool:
    """Whether the result of a reader may reach a softmax or an unknown operator."""
    open_ends = [name for name in reader.node.outputs if name]
    seen, results = set(open_ends), {spec.name for spec in side.graph.outputs}
    while open_ends:
        tensor = open_ends.pop()
        if tensor in results:
            return True
        for node in side.topology.readers.get(tensor, ()):
            if node.op in _NOT_EXPONENTIAL or _limited_below(side, node):
                continue
            if node.op not in _HANDS_ON_SIGNAL or node.bodies:
                return True
            new = [each for each in node.outputs if each and each not in seen]
            seen.update(new)
            open_ends += new
    return False


def _limited_below(side: Weights, node: Node) -> bool:
    """Whether a node replaces very negative numbers, as a clip at zero does."""
    if node.op not in _LIMITS_BELOW:
        return False
    stated = node.attributes.get("min")
    limits = [] if stated is None else [np.asarray(stated, np.float64)]
    for name in node.inputs[1:2] if node.op == "Clip" else node.inputs:
        value = side.value(name) if name and name not in side.topology.live else None
        limits += [] if value is None else [np.asarray(value, np.float64)]
    return any(each.size and bool(np.all(each > -VANISHED)) for each in limits)
