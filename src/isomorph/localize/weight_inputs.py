"""Inputs that may reach a constant that differs: its rows, its numbers, its limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.messages import message
from isomorph.localize.input_search import Trial, scales_to
from isomorph.match.topology import Topology

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node
    from isomorph.core.trace import Array
    from isomorph.match.constant_difference import ConstantDifference
    from isomorph.measure.evaluated_model import EvaluatedModel

_LEADS_TO_ROWS = frozenset(
    {"Identity", "Cast", "Reshape", "Squeeze", "Unsqueeze", "Transpose", "Flatten", "Expand",
     "Slice", "Clip", "OneHot"}
)  # fmt: skip
_INTEGERS = frozenset({"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"})


def scales_to_limits(difference: ConstantDifference, candidate: EvaluatedModel) -> Iterator[float]:
    """Yield factors of the inputs that bring data to a single limit that differs."""
    if len(difference.shown) != 1 or difference.beyond.size > 1 or difference.inside:
        return
    _, expected, actual = difference.shown[0]
    numbers = [each for each in (expected, actual) if each and np.isfinite(each)]
    topology = Topology(candidate.model.graph)
    reads = [name for each in difference.weight.readers for name in topology.sources(each.node)]
    yield from scales_to(numbers, list(dict.fromkeys(reads)), candidate)


def selected_rows(
    graph: Graph, feeds: Mapping[str, Array], difference: ConstantDifference
) -> Iterator[Trial]:
    """Yield inputs that select the rows of a table that differ."""
    topology = Topology(graph)
    integers = {name for name, value in feeds.items() if value.dtype.kind in "iu" and value.size}
    for node in topology.readers.get(difference.reference[0], ()):
        axis = int(node.attributes.get("axis", node.attributes.get("dim", 0)) or 0)
        if node.op not in {"Gather", "MatMul", "Gemm"} or axis >= difference.beyond.ndim:
            continue
        rows = np.unique(np.nonzero(difference.beyond)[axis])
        for name in sorted(integers & _inputs_behind(topology, node)):
            value = feeds[name]
            first = value.copy()
            first.flat[0] = rows[0]
            everywhere = np.resize(rows, value.shape).astype(value.dtype)
            for made in (first, everywhere):
                recipe = message("INPUT.row", row=rows[0], name=name)
                yield Trial(recipe=recipe, feeds={**feeds, name: made})


def equal_operands(
    graph: Graph, feeds: Mapping[str, Array], difference: ConstantDifference
) -> Iterator[Trial]:
    """Yield inputs that hold the integers of a constant that differs, and those next to them.

    A comparison with the constant gives another result on one of them.
    """
    if difference.inside or difference.weight.dtype not in _INTEGERS or not difference.shown:
        return
    topology = Topology(graph)
    for node in topology.readers.get(difference.reference[0], ()):
        for name in sorted(_inputs_behind(topology, node) & feeds.keys()):
            value = feeds[name]
            if value.dtype.kind not in "iu" or not value.size:
                continue
            numbers = converted_to(difference.expected, value.dtype)
            try:
                placed = np.broadcast_to(numbers, value.shape)
            except ValueError:
                placed = np.resize(numbers[difference.beyond], value.shape)
            for step in (0, 1, -1):
                near = f"{step:+d}" if step else ""
                made = (placed + np.asarray(step).astype(value.dtype)).astype(value.dtype)
                recipe = message(
                    "INPUT.weight", weight=difference.reference[0], near=near, name=name
                )
                yield Trial(recipe=recipe, feeds={**feeds, name: made})


def _inputs_behind(topology: Topology, node: Node) -> set[str]:
    """Return the graph inputs that a node reads through operators that pass values on."""
    found: set[str] = set()
    open_ends = list(topology.sources(node))
    while open_ends:
        name = open_ends.pop()
        maker = topology.maker.get(name)
        if maker is None:
            found.add(name)
        elif maker.op in _LEADS_TO_ROWS:
            open_ends += topology.sources(maker)
    return found


def converted_to(values: Array, dtype: np.dtype[Any]) -> Array:
    """Convert values to a type; float64 rounds the largest integers beyond their range."""
    if dtype.kind not in "iu" or values.dtype.kind != "f":
        return values.astype(dtype)
    limits = np.iinfo(dtype)
    above, below = values >= float(limits.max), values <= float(limits.min)
    inside = np.where(above | below, 0.0, values).astype(dtype)
    return np.where(above, limits.max, np.where(below, limits.min, inside)).astype(dtype)
