"""The role of stored integers, booleans and strings: numbers, row indices, or sizes.

Numbers and row indices are compared exactly. Sizes, axes and ends of slices are not: a size of -1
and the inferred size are the same, and so are an end of 2**31-1 and the length of an axis.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from isomorph.core.ops import RESHAPES

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.match.stored_weights import Weights

_FIRST_HANDED_ON = RESHAPES | {
    "Gather", "GatherElements", "GatherND", "Slice", "Expand", "Tile", "Transpose", "Split", "Pad",
    "Cast",
}  # fmt: skip
"""Operators that pass on their first input; the other inputs are sizes, axes or row indices."""
_HANDED_ON = frozenset({"Concat", "Add", "Sub", "Mul", "Div", "Mod", "Neg", "Min", "Max", "Abs"})
_NUMBERS = frozenset(
    {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "And", "Or", "Xor", "Not",
     "QuantizeLinear", "DequantizeLinear", "QLinearConv", "QLinearMatMul", "QLinearAdd",
     "QLinearMul", "QGemm", "ConvInteger", "MatMulInteger", "StringConcat"}
)  # fmt: skip
"""Operators that compute with every input and whose result is not a size."""
_ROWS = frozenset({"Gather", "GatherElements", "GatherND"})


class Role(StrEnum):
    """The role of a constant."""

    NUMBERS = "numbers"
    ROWS = "rows"
    """It selects rows: a negative number counts from the end."""
    UNKNOWN = "unknown"
    """It may state a size or an axis."""


def role_of(side: Weights, name: str) -> Role:
    """Return the role of a constant in all of its uses."""
    role, open_ends, seen = Role.NUMBERS, [name], {name}
    while open_ends:
        tensor = open_ends.pop()
        for node in side.topology.readers.get(tensor, ()):
            if node.name not in side.useful:
                continue
            for slot in [place for place, each in enumerate(node.inputs) if each == tensor] or [-1]:
                if node.op in _ROWS and slot == 1:
                    role = Role.ROWS
                elif _hands_on(node, slot):
                    new = [each for each in node.outputs if each and each not in seen]
                    seen.update(new)
                    open_ends += [each for each in new if not _is_float(side, each)]
                elif node.op not in _NUMBERS and (node.op, slot) != ("Where", 0):
                    return Role.UNKNOWN
    return role


def _is_float(side: Weights, name: str) -> bool:
    """Whether a tensor is known to hold floats, which are numbers."""
    spec = side.graph.tensors.get(name)
    return spec is not None and "float" in (spec.dtype or "")


def _hands_on(node: Node, slot: int) -> bool:
    if node.op == "Where":
        return slot in (1, 2)
    return node.op in _HANDED_ON or (node.op in _FIRST_HANDED_ON and slot == 0)
