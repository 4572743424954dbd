"""How a graph uses masks and lengths: which value of a mask hides, how long a row may be.

This is read from the graph's use of an input, through casts and comparisons, up to where elements
are filled with a number that a softmax ignores; the name decides only where the graph does not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from isomorph.core.limits import FOLLOWED_MASK_NODES
from isomorph.registry import operator_tables

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node

TRANSPARENT = frozenset(
    {"Identity", "Cast", "Reshape", "Squeeze", "Unsqueeze", "Transpose", "Flatten", "Expand",
     "Slice", "Split", "Clip", "Dropout", "Tile", "Gather", "GatherElements", "GatherND"}
)  # fmt: skip
"""Operators that pass on values of their first input."""
_JOINING = frozenset({"And", "Or", "Min", "Max", "BitwiseAnd", "BitwiseOr"})
_COMPARED = frozenset({"Less", "LessOrEqual", "Greater", "GreaterOrEqual"})
UNSEEN = math.log(2.0**-149)
"""Below this the exponential is zero in float32: adding it to a score hides the element."""
_MASK_OF_ATTENTION = 3
_HIDING_WORDS = ("padding", "ignore", "masked", "pad_mask")


def hidden_by(graph: Graph, tensor: str, *, name: str | None = None) -> bool | None:
    """Whether true or one hides an element (True) or keeps it (False); None if unknown.

    Without a ``name``, only fills of scores for a softmax count: zeros may have other uses.
    """
    found = next(_uses(graph, tensor, frozenset(), flipped=False), None)
    if name is not None and found is None:
        found = next(_uses(graph, tensor, frozenset(), flipped=False, by_zero=True), None)
    if found is None and name is not None:
        found = any(word in name.lower() for word in _HIDING_WORDS)
    return found


def _uses(
    graph: Graph, tensor: str, seen: frozenset[str], *, flipped: bool, by_zero: bool = False
) -> Iterator[bool]:
    """Yield for every use of the mask whether true hides there."""
    if tensor in seen:
        return
    seen |= {tensor}
    for node in graph.nodes:
        if tensor not in node.inputs:
            continue
        decided = _decides(graph, node, tensor, by_zero=by_zero)
        if decided is not None:
            yield decided != flipped
            continue
        turned = _turns(graph, node, tensor)
        if turned is not None:
            for output in node.outputs[:1]:
                yield from _uses(graph, output, seen, flipped=flipped != turned, by_zero=by_zero)


def _decides(graph: Graph, node: Node, tensor: str, *, by_zero: bool) -> bool | None:
    """Whether true hides, if this node fills, adds or multiplies by the mask."""
    if node.op == "Attention":
        is_mask = node.inputs.index(tensor) == _MASK_OF_ATTENTION
        return False if is_mask and _kind(graph, tensor) == "bool" else None
    if node.op == "Where":
        return _filled(graph, node, tensor, by_zero=by_zero)
    if node.op == "Mul" and len(node.inputs) == 2:
        number = _number(graph, node, 1 - node.inputs.index(tensor))
        if number is None:
            return False if by_zero else None  # what is multiplied by zero is hidden
        return True if number <= UNSEEN else None
    return None


def _filled(graph: Graph, node: Node, tensor: str, *, by_zero: bool) -> bool | None:
    """Return which of the two values of a selection hides the element."""
    if len(node.inputs) == 3 and node.inputs[0] == tensor:
        taken, other = (_number(graph, node, place) for place in (1, 2))
    elif len(node.inputs) == 2 and node.inputs[1] == tensor:
        taken, other = _number(graph, node, 2), None  # filled where the mask is true
    else:
        return None
    no_value = [number is not None and number <= UNSEEN for number in (taken, other)]
    if no_value[0] != no_value[1]:
        return no_value[0]
    zero = [number == 0 for number in (taken, other)]
    return zero[0] if by_zero and zero[0] != zero[1] else None


def _turns(graph: Graph, node: Node, tensor: str) -> bool | None:
    """Whether a node inverts the mask that it passes on; None where it does not pass it on."""
    first = node.inputs[0] == tensor
    if node.op in TRANSPARENT:
        return False if first else None
    if node.op in _JOINING:
        return False
    if node.op == "Not":
        return True
    number = _number(graph, node, 1 if first else 0)
    if node.op in {"Equal", "NotEqual"} and number in (0, 1):
        return (number == 0) == (node.op == "Equal")
    if node.op == "Greater" and first and number is not None:
        return False
    if node.op == "Sub" and number == 1:
        subtracted = node.native_op in operator_tables(graph.framework).numbers_first
        return True if not first or subtracted else None
    return None


def longest(graph: Graph, tensor: str, *, depth: int = FOLLOWED_MASK_NODES) -> int | None:
    """Return the size of the range that lengths are compared with; 0 if that is dynamic."""
    for node in graph.nodes:
        if tensor not in node.inputs:
            continue
        if node.op in _COMPARED and len(node.inputs) == 2:
            size = _range(graph, node.inputs[1 - node.inputs.index(tensor)])
            if size is not None:
                return size
        if node.op in TRANSPARENT and node.inputs[0] == tensor and depth:
            found = longest(graph, node.outputs[0], depth=depth - 1)
            if found is not None:
                return found
    return None


def _range(graph: Graph, tensor: str) -> int | None:
    """Return how many numbers a range has, in any shape; 0 where it is dynamic."""
    constant = graph.constants.get(tensor)
    if constant is not None:
        counts = constant.values is not None and list(constant.values) == list(
            range(len(constant.values))
        )
        return len(constant.values or ()) if counts and len(constant.values or ()) > 1 else None
    maker = next((node for node in graph.nodes if tensor in node.outputs), None)
    if maker is None:
        return None
    if maker.op == "Range":
        end = maker.attributes.get("end")
        return end if isinstance(end, int) else 0
    return _range(graph, maker.inputs[0]) if maker.op in TRANSPARENT and maker.inputs else None


def _number(graph: Graph, node: Node, place: int) -> float | None:
    """Return the single number at this input, stored or as an attribute."""
    if place < len(node.inputs):
        constant = graph.constants.get(node.inputs[place])
        single = constant is not None and constant.values is not None and len(constant.values) == 1
        value = constant.values[0] if single and constant is not None and constant.values else None
    else:
        value = node.attributes.get("other", node.attributes.get("value"))
    return float(value) if isinstance(value, (int, float)) else None


def _kind(graph: Graph, tensor: str) -> str | None:
    spec = graph.tensors.get(tensor)
    spec = spec or next((each for each in graph.inputs if each.name == tensor), None)
    return spec.dtype if spec is not None else None
