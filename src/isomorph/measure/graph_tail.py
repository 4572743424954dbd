"""The tail of a graph: its last nodes, and the tensors at which the other nodes enter them.

The rounding of the tail alone is a lower bound of that of the whole graph: the operations round
independently, so their variances add up. An error within the smaller budget is within the larger
one, and the smaller one costs a fraction of the time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isomorph.core.graph_facts import once_per_graph
from isomorph.measure.graph_ends import near_ends

if TYPE_CHECKING:
    from isomorph.core.model import Graph

_SMALLEST, _LARGEST = 1 / 12, 1 / 5
"""Between these shares of the nodes the tail begins where the fewest numbers enter it. The shares
decide what is drawn first, never a verdict: where the tail settles nothing, the whole graph is
drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """The last nodes of a graph; every reader of what they compute is one of them."""

    nodes: int
    entries: tuple[str, ...]
    """Tensors of the other nodes that the tail reads."""
    entering: int
    """How many numbers these have; an axis of unknown size counts as one."""
    inputs: tuple[str, ...]
    """Inputs of the graph that the tail reads."""
    constants: frozenset[str]
    """Constants that nothing but the tail reads."""


@once_per_graph
def tail_of(graph: Graph) -> Tail | None:
    """Return the tail of a graph; None where none is much smaller than the graph.

    Every output is computed by it. A node belongs to it if no path from the node to an output is
    longer than a certain length: no disturbance leaves the tail and comes back to cancel itself.
    Where outputs are computed all along the graph, as the caches of a decoder, the tail is what is
    near to any of them (``graph_ends``).
    """
    readers = _readers(graph)
    heights = _heights(graph, readers)
    varying = _varying(graph)
    limit = _limit(graph, [height if i in varying else 0 for i, height in enumerate(heights)])
    if limit is None:
        return None
    inside: set[int] = set()
    for i in reversed(range(len(graph.nodes))):
        after = [reader for name in graph.nodes[i].outputs for reader in readers.get(name, ())]
        # What follows from constants alone belongs to those that read it.
        if heights[i] <= limit if i in varying else inside.issuperset(after):
            inside.add(i)
    returned = {spec.name for spec in graph.outputs}
    apart: frozenset[str] = frozenset()
    if any(returned & set(node.outputs) for i, node in enumerate(graph.nodes) if i not in inside):
        ends = near_ends(graph, readers, varying, most=int(_LARGEST * len(varying)))
        if ends is None:
            return None
        inside, apart = set(ends.nodes), ends.shared_constants
    outside = [node for i, node in enumerate(graph.nodes) if i not in inside]
    made = {name for node in outside for name in node.outputs}
    read = {name: None for i in sorted(inside) for name in graph.nodes[i].inputs}
    entries = tuple(name for name in read if name in made)
    elsewhere = {name for node in outside for name in node.inputs}
    elsewhere.update(spec.name for spec in graph.outputs)
    return Tail(
        nodes=len(inside & varying),
        entries=entries,
        entering=sum(_numbers(graph, name) for name in entries),
        inputs=tuple(spec.name for spec in graph.inputs if spec.name in read),
        constants=frozenset(graph.constants) - elsewhere - apart,
    )


def _readers(graph: Graph) -> Mapping[str, Sequence[int]]:
    """Return the positions of the nodes that read each tensor."""
    readers: dict[str, list[int]] = {}
    for i, node in enumerate(graph.nodes):
        for name in filter(None, node.inputs):
            readers.setdefault(name, []).append(i)
    return readers


def _heights(graph: Graph, readers: Mapping[str, Sequence[int]]) -> list[int]:
    """Return the number of nodes on the longest path from each node to the end of the graph."""
    heights = [1] * len(graph.nodes)
    for i in reversed(range(len(graph.nodes))):
        after = [heights[j] for name in graph.nodes[i].outputs for j in readers.get(name, ())]
        heights[i] += max(after, default=0)
    return heights


def _varying(graph: Graph) -> frozenset[int]:
    """Return the positions of the nodes that depend on an input of the graph."""
    reached = {spec.name for spec in graph.inputs}
    found: list[int] = []
    for i, node in enumerate(graph.nodes):
        if not reached.isdisjoint(node.inputs):
            reached.update(filter(None, node.outputs))
            found.append(i)
    return frozenset(found)


def _limit(graph: Graph, heights: Sequence[int]) -> int | None:
    """Return the height at which a tail ends that few numbers enter; zero heights do not count."""
    levels: dict[int, list[int]] = {}
    for i, height in enumerate(heights):
        if height:
            levels.setdefault(height, []).append(i)
    total = sum(map(len, levels.values()))
    made = {n for level in levels.values() for i in level for n in graph.nodes[i].outputs}
    entering: dict[str, int] = {}
    found: list[tuple[int, int]] = []
    taken = 0
    for height in sorted(levels):
        nodes = [graph.nodes[i] for i in levels[height]]
        taken += len(nodes)
        if taken > _LARGEST * total:
            break
        for name in (name for node in nodes for name in node.outputs):
            entering.pop(name, None)
        for name in (name for node in nodes for name in node.inputs if name in made):
            entering[name] = _numbers(graph, name)
        if taken >= _SMALLEST * total:
            found.append((sum(entering.values()), height))
    return min(found)[1] if found else None


def _numbers(graph: Graph, name: str) -> int:
    """Return how many numbers a tensor has, counting axes of unknown size as one."""
    spec = graph.tensors.get(name)
    shape = spec.shape if spec is not None and spec.shape is not None else ()
    return math.prod(size for size in shape if isinstance(size, int))
