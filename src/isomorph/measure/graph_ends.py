"""What lies near the outputs of a graph that has outputs all along it, as a decoder has caches.

A disturbance of such a node reaches an output either on paths among these nodes alone, or on
others alone, never on both: in the whole graph it could cancel itself. So their rounding is a lower
bound of that of the whole graph, for each output.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isomorph.core.model import Graph

Readers = Mapping[str, Sequence[int]]
"""The positions of the nodes that read each tensor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """The nodes near the outputs, by their positions."""

    nodes: frozenset[int]
    shared_constants: frozenset[str]
    """Constants whose disturbance reaches an output on paths of both kinds."""


def near_ends(
    graph: Graph, readers: Readers, varying: Collection[int], *, most: int
) -> Ends | None:
    """Return the nodes near the outputs, at most so many; None where an output has none."""
    outputs = {spec.name: 1 << place for place, spec in enumerate(graph.outputs)}
    makers = {
        i for i, node in enumerate(graph.nodes) if not outputs.keys().isdisjoint(node.outputs)
    }
    inside = _nearest(graph, makers, varying, most)
    _add_between(graph, readers, inside)
    _add_constant_nodes(graph, readers, varying, inside)
    reached = _reached(graph, readers, outputs)
    while True:
        within, beyond = _paths(graph, readers, outputs, reached, inside)
        crossing = {i for i in inside if within[i] & beyond[i]}
        if not crossing:
            break
        inside -= crossing
    if not inside or not makers <= inside:
        return None
    shared = {
        name
        for name in graph.constants
        if _both(readers.get(name, ()), inside, within, beyond, reached)
    }
    return Ends(nodes=frozenset(inside), shared_constants=frozenset(shared))


def _nearest(
    graph: Graph, makers: Collection[int], varying: Collection[int], most: int
) -> set[int]:
    """Return the makers of outputs and what is nearest to them, level by level."""
    made_by = {name: i for i, node in enumerate(graph.nodes) for name in node.outputs}
    found, level = set(makers), set(makers)
    while level:
        names = (name for i in level for name in graph.nodes[i].inputs)
        level = {made_by[name] for name in names if name in made_by} - found
        level = {i for i in level if i in varying}
        if len(found) + len(level) > most:
            break
        found |= level
    return found


def _add_between(graph: Graph, readers: Readers, inside: set[int]) -> None:
    """Add nodes that lie between those inside: they read one, and no others read them."""
    made_by = {name: i for i, node in enumerate(graph.nodes) for name in node.outputs}
    for i in reversed(range(len(graph.nodes))):
        after = [reader for name in graph.nodes[i].outputs for reader in readers.get(name, ())]
        before = (made_by.get(name) for name in graph.nodes[i].inputs)
        if after and inside.issuperset(after) and not inside.isdisjoint(before):
            inside.add(i)


def _add_constant_nodes(
    graph: Graph, readers: Readers, varying: Collection[int], inside: set[int]
) -> None:
    """What follows from constants alone belongs to those that read it."""
    for i in reversed(range(len(graph.nodes))):
        after = [reader for name in graph.nodes[i].outputs for reader in readers.get(name, ())]
        if i not in varying and after and inside.issuperset(after):
            inside.add(i)


def _reached(graph: Graph, readers: Readers, outputs: Mapping[str, int]) -> list[int]:
    """Return the outputs that each node reaches, one bit for each."""
    reached = [0] * len(graph.nodes)
    for i in reversed(range(len(graph.nodes))):
        for name in graph.nodes[i].outputs:
            reached[i] |= outputs.get(name, 0)
            for reader in readers.get(name, ()):
                reached[i] |= reached[reader]
    return reached


def _paths(
    graph: Graph,
    readers: Readers,
    outputs: Mapping[str, int],
    reached: Sequence[int],
    inside: Collection[int],
) -> tuple[list[int], list[int]]:
    """Return the outputs that each node inside reaches on paths inside, and on all others."""
    within, beyond = [0] * len(graph.nodes), [0] * len(graph.nodes)
    for i in sorted(inside, reverse=True):
        for name in graph.nodes[i].outputs:
            within[i] |= outputs.get(name, 0)
            for reader in readers.get(name, ()):
                if reader in inside:
                    within[i] |= within[reader]
                    beyond[i] |= beyond[reader]
                else:
                    beyond[i] |= reached[reader]
    return within, beyond


def _both(
    read_by: Sequence[int],
    inside: Collection[int],
    within: Sequence[int],
    beyond: Sequence[int],
    reached: Sequence[int],
) -> bool:
    """Whether the readers of a constant reach an output on paths inside and on others."""
    ways, others = 0, 0
    for reader in read_by:
        ways |= within[reader] if reader in inside else 0
        others |= beyond[reader] if reader in inside else reached[reader]
    return bool(ways & others)
