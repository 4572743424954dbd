"""Constants of integers that state their own scales: no operator reads these.

The scales belong to blocks of neighbors, to the slices of an axis, or to the whole constant. Where
activations are quantized as well, such constants are no weights that are narrow alone, and are left
out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.core.graph_facts import once_per_graph
from isomorph.kernels.quantized import limits
from isomorph.match.dequantized_graph import implicit_grids

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from isomorph.core.model import Graph, Node, Quantization

_STEPS = 2**8
"""Integers of more steps belong to sums of products."""


@once_per_graph
def stated_blocks(graph: Graph) -> Mapping[str, Quantization]:
    """Return how each such constant is quantized, by its name."""
    grids = implicit_grids(graph)
    alone = all(name in graph.constants for name in grids)
    in_slices = {name: each for name, each in grids.items() if alone and _is_weight(graph, each)}
    in_blocks = {
        each.tensor: each
        for each in graph.quantization
        if each.block and each.tensor in graph.constants and each.scales in graph.constants
    }
    return {**in_slices, **in_blocks}


def _is_weight(graph: Graph, entry: Quantization) -> bool:
    shape, ends = graph.constants[entry.tensor].shape, limits(entry.dtype)
    one = len(entry.scale) == 1
    sliced = entry.axis is not None and shape[entry.axis] == len(entry.scale)
    return ends is not None and ends[1] - ends[0] < _STEPS and len(shape) > 1 and (one or sliced)


def in_blocks(graph: Graph, name: str) -> bool:
    """Whether a constant states one scale for each block of neighbors."""
    entry = stated_blocks(graph).get(name)
    return entry is not None and entry.block > 0


def read_in_blocks(graph: Graph, node: Node) -> Iterator[tuple[Quantization, str]]:
    """Each of them that a node reads, with the tensor that takes real numbers in its place."""
    known = stated_blocks(graph)
    for name in dict.fromkeys(node.inputs):
        if name in known:
            yield known[name], node.outputs[0] if node.op == "DequantizeLinear" else name
