"""Inputs of a node that come from another node than those of its counterpart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from typing import TYPE_CHECKING

from isomorph.core.model_diff import ChangeKind, NodeChange
from isomorph.diffing.linked_graph import COMMUTES

if TYPE_CHECKING:
    from isomorph.diffing.linked_graph import LinkedGraph
    from isomorph.diffing.node_groups import NodeGroup
    from isomorph.diffing.node_pairs import NodePairs


class Connections:
    """Where the tensors of both graphs come from, in terms of what corresponds.

    Nodes of one side, and nodes that moved, are looked through where they read one tensor: what
    follows an added node is still connected to the same.
    """

    def __init__(
        self, pairs: NodePairs, groups: Sequence[NodeGroup], moved: Collection[int]
    ) -> None:
        """``moved`` are places of the reference's nodes."""
        self._pairs, self._sides = pairs, pairs.sides
        self._group: tuple[dict[int, Hashable], dict[int, Hashable]] = ({}, {})
        for number, group in enumerate(groups):
            if group.reference and group.candidate:
                for side, places in enumerate((group.reference, group.candidate)):
                    self._group[side].update(dict.fromkeys(places, ("group", number)))
        self._moved = set(moved), {pairs.cand_of[place] for place in moved}

    def changes(self, ref: int, cand: int) -> list[NodeChange]:
        """Return the inputs of a pair that differ; none where one of both is not known."""
        left, right = self._sides
        ones, others = left.live_reads[ref], right.live_reads[cand]
        if len(ones) != len(others):
            return []
        sources = [
            [self.source(side, name) for name in names] for side, names in enumerate((ones, others))
        ]
        if any(each is None for side in sources for each in side):
            return []
        if left.ops[ref] in COMMUTES and Counter(sources[0]) == Counter(sources[1]):
            return []
        return [
            NodeChange(
                kind=ChangeKind.INPUT,
                name=f"input {place}",
                reference=self._named(0, one),
                candidate=self._named(1, other),
            )
            for place, (one, other) in enumerate(zip(ones, others, strict=True))
            if sources[0][place] != sources[1][place]
        ]

    def elsewhere(self, ref: int, cand: int) -> bool:
        """Whether no input and no reader of two nodes correspond: the node was moved."""
        left, right = self._sides
        ones, others = left.live_reads[ref], right.live_reads[cand]
        sources = [
            {self.source(side, name) for name in names} for side, names in enumerate((ones, others))
        ]
        readers: list[set[Hashable]] = [
            {self._entity(side, each) for each in self._sides[side].consumers(place)}
            for side, place in enumerate((ref, cand))
        ]
        sets: list[set[Hashable]] = [*sources, *readers]
        known = all(found and None not in found for found in sets)
        return known and not (sources[0] & sources[1]) and not (readers[0] & readers[1])

    def source(self, side: int, tensor: str) -> Hashable:
        """What computes a tensor, the same on both sides; None where it has no counterpart."""
        graph = self._sides[side]
        for _ in range(len(graph.nodes) + 1):
            made = graph.maker.get(tensor)
            if made is None:
                return "input", tensor if side == 0 else self._pairs.tensors.get(tensor, tensor)
            place, slot = made
            entity = None if place in self._moved[side] else self._entity(side, place)
            if entity is not None:
                return (*entity, slot) if entity[0] == "pair" else entity
            if len(set(graph.live_reads[place])) != 1:
                return None
            tensor = graph.live_reads[place][0]
        return None

    def _entity(self, side: int, place: int) -> tuple[str, Hashable] | None:
        pairs = self._pairs
        if side == 0:
            if place in pairs.cand_of:
                return "pair", place
        elif place in pairs.ref_of:
            return "pair", pairs.ref_of[place]
        found = self._group[side].get(place)
        return None if found is None else ("group", found)

    def _named(self, side: int, tensor: str) -> str:
        graph: LinkedGraph = self._sides[side]
        made = graph.maker.get(tensor)
        return tensor if made is None else graph.nodes[made[0]].name
