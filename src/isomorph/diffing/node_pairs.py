"""Pair the nodes of two graphs that have the same operator, from what is certain outward.

First nodes that agree in attributes and constants, then nodes whose weights have the same sizes,
then nodes with the same operator. Each step follows the edges from the inputs, the outputs and the
weights that occur once on both sides.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING

from isomorph.diffing.linked_graph import COMMUTES

if TYPE_CHECKING:
    from isomorph.diffing.linked_graph import LinkedGraph

_Queue = deque[tuple[int, int]]
SameAttributes = Callable[[int, int], bool]
"""Whether two nodes, by their places in the reference and the candidate, state the same."""

_COUNTED = COMMUTES | {"Sub", "Div", "Pow", "MatMul", "Where"}
"""Operators that compute something else with a constant operand than with two live ones."""


class Agreement(IntEnum):
    """How far two nodes of one operator have to agree to be paired."""

    ALL = 0
    """In attributes and in the values of constants."""
    SIZES = 1
    """In attributes and in the sizes of weights."""
    OPERATOR = 2


class NodePairs:
    """The pairs found so far, in both directions."""

    def __init__(
        self,
        reference: LinkedGraph,
        candidate: LinkedGraph,
        *,
        tensors: Mapping[str, str],
        same_attributes: SameAttributes,
        one_framework: bool,
    ) -> None:
        """``tensors`` are the reference's by the candidate's: inputs, and what a body captures."""
        self.sides = reference, candidate
        self.tensors, self._known = dict(tensors), set(tensors.values())
        self._same_attributes, self._one_framework = same_attributes, one_framework
        self.ref_of: dict[int, int] = {}
        self.cand_of: dict[int, int] = {}
        owners = tuple(map(_weight_owners, self.sides))
        self.shared: dict[Hashable, tuple[int, int]] = {
            key: (place, owners[1][key]) for key, place in owners[0].items() if key in owners[1]
        }
        """The readers of each weight that one node of either graph reads."""
        self._anchor: tuple[dict[int, set[Hashable]], ...] = ({}, {})
        for key, places in self.shared.items():
            for side, place in enumerate(places):
                self._anchor[side].setdefault(place, set()).add(key)

    def pair(self, ref: int, cand: int) -> None:
        """Record a pair."""
        self.ref_of[cand], self.cand_of[ref] = ref, cand

    def separate(self, ref: int, cand: int) -> None:
        """Take a pair back."""
        del self.ref_of[cand], self.cand_of[ref]

    def extend(self, ends: Iterable[tuple[str, str]]) -> None:
        """Pair whatever agrees, the most certain first; ``ends`` are bound outputs."""
        bound = [(ref, cand) for cand, ref in self.tensors.items()]
        for agreement in (Agreement.ALL, Agreement.SIZES):
            self._follow(agreement, bound, list(ends))
            if agreement is Agreement.ALL:
                for ref, cand in self.shared.values():
                    if self.free(ref, cand) and self.fits(ref, cand, agreement):
                        self.pair(ref, cand)
                self._follow(agreement, [], [])

    def extend_by_operator(self) -> None:
        """Pair the neighbors of pairs that have the same operator, whatever they state."""
        self._follow(Agreement.OPERATOR, [], [])

    def free(self, ref: int, cand: int) -> bool:
        """Whether neither node has a counterpart yet."""
        return ref not in self.cand_of and cand not in self.ref_of

    def fits(self, ref: int, cand: int, agreement: Agreement) -> bool:
        """Whether two nodes may be one, and agree this far."""
        left, right = self.sides
        if left.ops[ref] != right.ops[cand] or left.is_live[ref] != right.is_live[cand]:
            return False
        if left.ops[ref] in _COUNTED and len(left.live_reads[ref]) != len(right.live_reads[cand]):
            return False
        if self._anchor[0].get(ref, _NONE) != self._anchor[1].get(cand, _NONE):
            return False
        if agreement is Agreement.OPERATOR:
            return True
        if len(left.nodes[ref].outputs) != len(right.nodes[cand].outputs):
            return False
        if not self._same_attributes(ref, cand):
            return False
        if agreement is Agreement.SIZES:
            return left.sizes(ref) == right.sizes(cand)
        return self.same_constants(ref, cand)

    def share_weight(self, ref: int, cand: int) -> bool:
        """Whether both read a weight that no other node reads."""
        return not self._anchor[0].get(ref, _NONE).isdisjoint(self._anchor[1].get(cand, _NONE))

    def same_constants(self, ref: int, cand: int) -> bool:
        """Whether two nodes read the same numbers, in any arrangement."""
        left, right = self.sides
        if self._one_framework:
            return left.const_classes[ref] == right.const_classes[cand]
        return left.weight_classes[ref] == right.weight_classes[cand]

    def same_weights(self, ref: int, cand: int) -> bool:
        """Whether two nodes read the same weights; shapes, axes and single numbers do not count."""
        left, right = self.sides
        return left.weight_classes[ref] == right.weight_classes[cand]

    def _follow(
        self,
        agreement: Agreement,
        starts: list[tuple[str, str]],
        ends: list[tuple[str, str]],
    ) -> None:
        for ref, cand in starts:
            self._pair_readers(ref, cand, agreement, queue := _Queue())
            self._walk(queue, agreement)
        queue = _Queue(self.cand_of.items())
        for ref, cand in ends:
            self._pair_makers(ref, cand, agreement, queue)
        self._walk(queue, agreement)

    def _walk(self, queue: _Queue, agreement: Agreement) -> None:
        left, right = self.sides
        while queue:
            ref, cand = queue.popleft()
            for one, other in zip(left.nodes[ref].outputs, right.nodes[cand].outputs, strict=False):
                if one and other:
                    self._pair_readers(one, other, agreement, queue)
            self._pair_operands(ref, cand, agreement, queue)

    def _pair_readers(self, ref: str, cand: str, agreement: Agreement, queue: _Queue) -> None:
        """Pair the readers of two corresponding tensors where one fits one."""
        ones = [each for each in self.sides[0].readers.get(ref, ()) if each not in self.cand_of]
        others = [each for each in self.sides[1].readers.get(cand, ()) if each not in self.ref_of]
        for one, other in self._one_to_one(ones, others, agreement):
            self.pair(one, other)
            queue.append((one, other))

    def _one_to_one(
        self, ones: list[int], others: list[int], agreement: Agreement
    ) -> list[tuple[int, int]]:
        """Pair each node with the only one that fits; of as many alike, by name or in order."""
        if not ones or not others:
            return []
        left, right = self.sides
        if len(ones) == len(others) == 1:
            pair = ones[0], others[0]
            return [pair] if self._agrees(*pair, agreement) else []
        by_op: dict[str, tuple[list[int], list[int]]] = {}
        for side, places in enumerate((ones, others)):
            for place in places:
                by_op.setdefault(self.sides[side].ops[place], ([], []))[side].append(place)
        found: list[tuple[int, int]] = []
        for same_op in by_op.values():
            rows = [
                (one, [each for each in same_op[1] if self._agrees(one, each, agreement)])
                for one in same_op[0]
            ]
            wanted = Counter(each for _, fitting in rows for each in fitting)
            alike = [(one, fitting) for one, fitting in rows if len(fitting) > 1]
            found += [
                (one, fitting[0])
                for one, fitting in rows
                if len(fitting) == 1 and wanted[fitting[0]] == 1
            ]
            if alike and all(len(fitting) == len(alike) for _, fitting in alike):
                names = {right.nodes[each].name: each for each in alike[0][1]}
                named = [(one, names.get(left.nodes[one].name)) for one, _ in alike]
                if all(other is not None for _, other in named):
                    found += [(one, other) for one, other in named if other is not None]
                else:
                    found += zip((one for one, _ in alike), alike[0][1], strict=True)
        return found

    def _pair_operands(self, ref: int, cand: int, agreement: Agreement, queue: _Queue) -> None:
        left, right = self.sides
        ones, others = left.live_reads[ref], right.live_reads[cand]
        if len(left.reads[ref]) == len(right.reads[cand]):
            ones, others = left.reads[ref], right.reads[cand]
        if len(ones) != len(others):
            return
        if left.ops[ref] in COMMUTES:
            makers = [
                [side.maker[name][0] for name in names if name in side.maker]
                for side, names in zip(self.sides, (ones, others), strict=True)
            ]
            free = [
                [each for each in dict.fromkeys(places) if each not in taken]
                for places, taken in zip(makers, (self.cand_of, self.ref_of), strict=True)
            ]
            for pair in self._one_to_one(free[0], free[1], agreement):
                self.pair(*pair)
                queue.append(pair)
            return
        for one, other in zip(ones, others, strict=True):
            self._pair_makers(one, other, agreement, queue)

    def _pair_makers(self, ref: str, cand: str, agreement: Agreement, queue: _Queue) -> None:
        left, right = self.sides
        if ref not in left.maker or cand not in right.maker:
            return
        (one, slot), (other, place) = left.maker[ref], right.maker[cand]
        if slot == place and self.free(one, other) and self._agrees(one, other, agreement):
            self.pair(one, other)
            queue.append((one, other))

    def _agrees(self, ref: int, cand: int, agreement: Agreement) -> bool:
        return self.fits(ref, cand, agreement) and self.consistent(ref, cand)

    def consistent(self, ref: int, cand: int) -> bool:
        """Whether no operand of one is known to be another tensor than that of the other."""
        left, right = self.sides
        ones, others = left.live_reads[ref], right.live_reads[cand]
        if len(ones) != len(others):
            return True
        if left.ops[ref] in COMMUTES:
            known = {each for each in map(self._counterpart, others) if each is not None}
            return known == {each for each in ones if self._has_counterpart(each)}
        for one, other in zip(ones, others, strict=True):
            known_as = self._counterpart(other)
            if known_as is not None and known_as != one:
                return False
            if known_as is None and self._has_counterpart(one):
                return False
        return True

    def _counterpart(self, tensor: str) -> str | None:
        """The reference's tensor for one of the candidate's, where its maker has a pair."""
        if tensor in self.tensors:
            return self.tensors[tensor]
        made = self.sides[1].maker.get(tensor)
        if made is None or made[0] not in self.ref_of:
            return None
        outputs = self.sides[0].nodes[self.ref_of[made[0]]].outputs
        return outputs[made[1]] if made[1] < len(outputs) else None

    def _has_counterpart(self, tensor: str) -> bool:
        made = self.sides[0].maker.get(tensor)
        return made[0] in self.cand_of if made is not None else tensor in self._known


_NONE: set[Hashable] = set()


def _weight_owners(graph: LinkedGraph) -> dict[Hashable, int]:
    """The node that reads each weight whose values occur once in a graph."""
    owners: dict[Hashable, int] = {}
    several: set[Hashable] = set()
    for place, names in enumerate(graph.constants):
        for name in dict.fromkeys(names):
            if not graph.is_live[place] or not graph.is_weight(name):
                continue
            key = graph.class_of(name)
            if key is None or owners.setdefault(key, place) != place:
                several.add(key)
    return {key: place for key, place in owners.items() if key not in several}


def increasing(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part of pairs, sorted by their first numbers, whose second numbers rise."""
    ends: list[int] = []
    at: list[int] = []
    before: list[int] = []
    for place, (_, value) in enumerate(pairs):
        spot = bisect_left(ends, value)
        before.append(at[spot - 1] if spot else -1)
        if spot == len(ends):
            ends.append(value)
            at.append(place)
        else:
            ends[spot], at[spot] = value, place
    found: list[tuple[int, int]] = []
    place = at[-1] if at else -1
    while place >= 0:
        found.append(pairs[place])
        place = before[place]
    found.reverse()
    return found
