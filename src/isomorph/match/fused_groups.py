"""Group the nodes that compute the same step between aligned tensors of both graphs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from isomorph.core.alignment import Group
from isomorph.match.disjoint_sets import DisjointSets

if TYPE_CHECKING:
    from isomorph.match.topology import Topology

Place = tuple[int, str]
"""A side, 0 for the reference and 1 for the candidate, and the name of a node."""


def connected_nodes(
    reference: Topology, candidate: Topology, pairs: Iterable[tuple[str, str]]
) -> DisjointSets[Place]:
    """Join nodes that share a tensor without a counterpart, and the makers of aligned tensors.

    One graph may compute in one node what the other computes in three; the nodes between aligned
    tensors correspond as sets.
    """
    sets = DisjointSets[Place]()
    aligned: tuple[set[str], set[str]] = (set(), set())
    for ref, cand in pairs:
        aligned[0].add(ref)
        aligned[1].add(cand)
        left, right = reference.maker.get(ref), candidate.maker.get(cand)
        if left is not None and right is not None:
            sets.join([(0, left.name), (1, right.name)])
    for side, topology in enumerate((reference, candidate)):
        for name, maker in topology.maker.items():
            readers = topology.readers.get(name, ())
            if name in topology.live and name not in aligned[side] and readers:
                sets.join((side, node.name) for node in (maker, *readers))
    return sets


def fused_groups(
    reference: Topology, candidate: Topology, sets: DisjointSets[Place]
) -> Iterator[Group]:
    """Yield the sets in which a side has more than one node, in the candidate's order."""
    members: dict[Place, tuple[list[str], list[str]]] = {}
    for side, topology in ((1, candidate), (0, reference)):
        for node in topology.graph.nodes:
            if any(name in topology.live for name in node.outputs):
                found = members.setdefault(sets.root((side, node.name)), ([], []))
                found[side].append(node.name)
    for ref, cand in members.values():
        if ref and cand and len(ref) + len(cand) > 2:
            yield Group(reference=tuple(ref), candidate=tuple(cand))
