"""Group the nodes without a counterpart: what one side computes in two nodes, the other in five.

Nodes of both sides belong together if they read the same weight, or lie between the same
corresponding tensors. What is left on one side alone was added or removed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isomorph.core.ops import BUILT_IN, BUILT_IN_RANGES, FUSED, KEEPS_NUMBERS, RESHAPES
from isomorph.match.disjoint_sets import DisjointSets

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.diffing.node_pairs import NodePairs

Place = tuple[int, int]
"""A side, 0 for the reference and 1 for the candidate, and the place of a node in its graph."""

KEEPS_NUMBERS_OR_GRID = KEEPS_NUMBERS | {"QuantizeLinear", "Constant"}
"""Operators that hand on every number, at most on a grid of integers, or state a constant."""

_ACTIVATIONS = frozenset(BUILT_IN.values()) | {"Sigmoid", "LeakyRelu", "HardSigmoid", "Elu"}
_BY_LIMITS: Mapping[object, str] = {
    (0.0, math.inf): "RELU", **{limits: word for word, limits in BUILT_IN_RANGES.items()},
}  # fmt: skip
"""Activations that a node of another operator states as the limits of its result."""


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """Nodes of both sides, by their places; one side may be empty."""

    reference: tuple[int, ...]
    candidate: tuple[int, ...]


def group_nodes(pairs: NodePairs, ends: Sequence[tuple[str, str]]) -> list[NodeGroup]:
    """Group what has no pair; pairs that nodes were folded into become members of a group.

    ``ends`` are bound outputs, the reference's first.
    """
    groups = _Groups(pairs)
    groups.join_by_weights()
    groups.join_neighbors()
    groups.join_by_tensors(ends)
    groups.join_folded()
    groups.join_reshapes()
    return groups.found()


class _Groups:
    def __init__(self, pairs: NodePairs) -> None:
        self.pairs, self.sides = pairs, pairs.sides
        self.sets = DisjointSets[Place]()
        taken = pairs.cand_of, pairs.ref_of
        self.open = [
            [place for place in graph.order if place not in taken[side]]
            for side, graph in enumerate(pairs.sides)
        ]
        self._is_open = [set(places) for places in self.open]
        self._anchored: tuple[set[int], set[int]] = (set(), set())
        self._cuts = self._same_names()

    def _same_names(self) -> set[str]:
        """Tensors of one name and shape that open nodes of both sides compute."""
        left, right = self.sides
        found = set()
        for place in self.open[1]:
            for name in right.nodes[place].outputs:
                made = left.maker.get(name)
                # A number says nothing: exporters count their tensors.
                if made is None or made[0] not in self._is_open[0] or name.isdigit():
                    continue
                if left.is_live[made[0]] and left.shape(name) == right.shape(name):
                    found.add(name)
        return found

    def join_by_weights(self) -> None:
        """Join the readers of each weight that occurs once on both sides."""
        for ref, cand in self.pairs.shared.values():
            if ref in self._is_open[0] and cand in self._is_open[1]:
                self.sets.join([(0, ref), (1, cand)])
                self._anchored[0].add(ref)
                self._anchored[1].add(cand)
        # Names that contradict the weights mean nothing: the sides count their nodes differently.
        for name in self._cuts:
            makers = [side.maker[name][0] for side in self.sides]
            both = all(makers[side] in self._anchored[side] for side in (0, 1))
            if both and self.sets.root((0, makers[0])) != self.sets.root((1, makers[1])):
                self._cuts = set()
                break

    def join_neighbors(self) -> None:
        """Join each node without a shared weight to what it reads, or else to what reads it."""
        for side in (0, 1):
            settled = set(self._anchored[side])
            for place in self.open[side]:
                if place not in settled and (before := self._producer(side, place)) is not None:
                    self.sets.join([(side, before), (side, place)])
                    settled.add(place)
            for place in reversed(self.open[side]):
                after = None if place in settled else self._consumer(side, place)
                if after is not None:
                    self.sets.join([(side, after), (side, place)])

    def _producer(self, side: int, place: int) -> int | None:
        graph = self.sides[side]
        for name in graph.live_reads[place]:
            made = graph.maker.get(name)
            if made is not None and name not in self._cuts and made[0] in self._is_open[side]:
                return made[0]
        return None

    def _consumer(self, side: int, place: int) -> int | None:
        graph = self.sides[side]
        for name in graph.nodes[place].outputs:
            for after in graph.readers.get(name, ()) if name not in self._cuts else ():
                if after in self._is_open[side]:
                    return after
        return None

    def join_by_tensors(self, ends: Sequence[tuple[str, str]]) -> None:
        """Join the makers of corresponding tensors; then the readers that have no partner yet."""
        for ref, cand in self._read_alike(ends):
            left, right = self.sides[0].maker.get(ref), self.sides[1].maker.get(cand)
            if left is not None and right is not None:
                self._join_open(left[0], right[0])
        one_sided = self._one_sided()
        for names in self._made_alike():
            lone: list[list[int]] = []
            for side, name in enumerate(names):
                readers = self.sides[side].readers.get(name, ())
                roots = {
                    self.sets.root((side, each)): each
                    for each in readers
                    if each in self._is_open[side]
                }
                lone.append([each for root, each in roots.items() if root in one_sided])
            if len(lone[0]) == len(lone[1]):
                for ref, cand in zip(*lone, strict=True):
                    self._join_open(ref, cand)
                    one_sided -= {self.sets.root((0, ref)), self.sets.root((1, cand))}

    def _join_open(self, ref: int, cand: int) -> None:
        if ref in self._is_open[0] and cand in self._is_open[1]:
            self.sets.join([(0, ref), (1, cand)])

    def _one_sided(self) -> set[Place]:
        """The sets that have nodes of one side only."""
        members: dict[Place, set[int]] = {}
        for side in (0, 1):
            for place in self.open[side]:
                members.setdefault(self.sets.root((side, place)), set()).add(side)
        return {root for root, found in members.items() if len(found) == 1}

    def _read_alike(self, ends: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        """Tensors of open nodes that correspond by who reads them, or by their name."""
        yield from ends
        yield from ((name, name) for name in sorted(self._cuts))
        left, right = self.sides
        for ref, cand in self.pairs.cand_of.items():
            reads = left.live_reads[ref], right.live_reads[cand]
            unpaired = [
                [n for n in names if (made := self.sides[side].maker.get(n)) is not None
                 and made[0] in self._is_open[side]]
                for side, names in enumerate(reads)
            ]  # fmt: skip
            if len(unpaired[0]) == len(unpaired[1]) == 1:
                yield unpaired[0][0], unpaired[1][0]
            elif len(reads[0]) == len(reads[1]):
                yield from zip(*reads, strict=True)

    def _made_alike(self) -> Iterator[tuple[str, str]]:
        """The inputs, and what pairs compute."""
        yield from ((ref, cand) for cand, ref in self.pairs.tensors.items())
        left, right = self.sides
        for ref, cand in self.pairs.cand_of.items():
            yield from zip(left.nodes[ref].outputs, right.nodes[cand].outputs, strict=False)

    def join_folded(self) -> None:
        """Join nodes to the pair that they were folded into.

        These are nodes of one side, or nodes whose weights are on no other side: a normalization
        becomes other numbers in the product before it, and a sum. A pair is taken only if it
        shows that: its weights differ, or an activation is built in.
        """
        one_sided = self._one_sided()
        anchored = {self.sets.root((0, place)) for place in self._anchored[0]}
        sets: dict[Place, list[int]] = {}
        for side in (0, 1):
            for place in self.open[side]:
                root = self.sets.root((side, place))
                if root in one_sided or (side == 0 and root not in anchored):
                    sets.setdefault(root, []).append(place)
        for root, places in sets.items():
            side = root[0] if root in one_sided else 0
            graph = self.sides[side]
            into: int | None = None
            if all(graph.nodes[place].op == "Constant" for place in places):
                continue
            if not any(graph.is_live[place] for place in places):
                into = next(
                    self._paired(side, (c for p in places for c in graph.consumers(p))), None
                )
            elif any(graph.nodes[place].op not in KEEPS_NUMBERS_OR_GRID for place in places):
                before = self._paired(side, (p for each in places for p in graph.producers(each)))
                after = self._paired(side, (c for each in places for c in graph.consumers(each)))
                found = (each for each in (*before, *after) if self._holds(side, each, places))
                into = next(found, None)
            if into is not None:
                self._join_pair(side, into, places[0])

    def join_reshapes(self) -> None:
        """Join a pair that reshapes to another shape on each side to the group that reads it.

        The group hands on one shape, so that it undoes the difference. Elements keep their order.
        """
        for ref, cand in list(self.pairs.cand_of.items()):
            nodes = self.sides[0].nodes[ref], self.sides[1].nodes[cand]
            if any(node.op not in RESHAPES for node in nodes):
                continue
            if self.sides[0].shape(nodes[0].outputs[0]) == self.sides[1].shape(nodes[1].outputs[0]):
                continue
            readers = [
                {self.sets.root((side, p)) for p in graph.consumers(at) if p in self._is_open[side]}
                for side, (graph, at) in enumerate(zip(self.sides, (ref, cand), strict=True))
            ]
            if len(readers[0]) == 1 and readers[0] == readers[1]:
                reader = next(p for p in self.sides[0].consumers(ref) if p in self._is_open[0])
                self._join_pair(0, ref, reader)

    def _paired(self, side: int, places: Iterable[int]) -> Iterator[int]:
        taken = (self.pairs.cand_of, self.pairs.ref_of)[side]
        return (place for place in dict.fromkeys(places) if place in taken)

    def _holds(self, side: int, place: int, folded: Sequence[int]) -> bool:
        """Whether a pair differs as it does where these nodes of one side were folded into it."""
        graph, pairs = self.sides[side], self.pairs
        ref, cand = (place, pairs.cand_of[place]) if side == 0 else (pairs.ref_of[place], place)
        ops = {graph.ops[each] for each in folded}
        built_in = [
            built_in_activation(self.sides[0].nodes[ref]),
            built_in_activation(self.sides[1].nodes[cand]),
        ]
        if ops & _ACTIVATIONS and built_in[1 - side] and built_in[0] != built_in[1]:
            return True
        reads_weights = any(graph.constants[each] for each in folded)
        weights = [graph.sizes(at) for graph, at in zip(self.sides, (ref, cand), strict=True)]
        return reads_weights and any(weights) and not pairs.same_weights(ref, cand)

    def _join_pair(self, side: int, into: int, place: int) -> None:
        ref, cand = (
            (into, self.pairs.cand_of[into]) if side == 0 else (self.pairs.ref_of[into], into)
        )
        self.sets.join([(0, ref), (1, cand)])
        self.sets.join([(side, into), (side, place)])
        for at, each in enumerate((ref, cand)):
            if each not in self._is_open[at]:
                self._is_open[at].add(each)
                self.open[at].append(each)

    def found(self) -> list[NodeGroup]:
        """The groups, those of pairs without their pairs, in the order of the reference."""
        members: dict[Place, tuple[list[int], list[int]]] = {}
        for side, graph in enumerate(self.sides):
            for place in graph.order:
                if place in self._is_open[side]:
                    root = self.sets.root((side, place))
                    members.setdefault(root, ([], []))[side].append(place)
        for _, cand in members.values():
            for each in cand:
                if each in self.pairs.ref_of:
                    self.pairs.separate(self.pairs.ref_of[each], each)
        return [NodeGroup(tuple(ref), tuple(cand)) for ref, cand in members.values()]


def is_activation(op: str) -> bool:
    """Whether an operator may be built into the node before it."""
    return op in _ACTIVATIONS


def built_in_activation(node: Node) -> str:
    """The activation that a node applies to its result; empty where it applies none."""
    for name in (FUSED, "activation"):
        word = node.attributes.get(name)
        if isinstance(word, str) and word not in ("", "NONE"):
            return word
    limits = node.attributes.get("min"), node.attributes.get("max")
    return _BY_LIMITS.get(limits, "") if node.op not in _ACTIVATIONS else ""
