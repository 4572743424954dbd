"""What nodes of one side alone are: added, removed, or handing on every number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from isomorph.core.model_diff import Relation
from isomorph.diffing.node_groups import KEEPS_NUMBERS_OR_GRID

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.diffing.linked_graph import LinkedGraph
    from isomorph.diffing.node_groups import NodeGroup

Permutation = tuple[int, ...]
_WITHOUT_EFFECT = frozenset({"Identity", "Constant", "QuantizeLinear", "DequantizeLinear"})
"""Operators without an effect, and those that only put numbers on a grid and take them from it."""


class OneSided:
    """Tells what a conversion inserts or drops from what somebody added or removed.

    Between two frameworks every operator that hands on its numbers is of the conversion. Within
    one framework it also has to have no effect: it keeps order and shape, or is undone.
    """

    def __init__(
        self,
        sides: tuple[LinkedGraph, LinkedGraph],
        groups: Sequence[NodeGroup],
        *,
        one_framework: bool,
    ) -> None:
        self._sides, self._groups, self._one_framework = sides, groups, one_framework

    def relation(self, group: NodeGroup) -> Relation:
        """Return what became of the nodes of one side."""
        side = 0 if group.reference else 1
        nodes = [self._sides[side].nodes[at] for at in group.reference or group.candidate]
        hands_on = all(node.op in KEEPS_NUMBERS_OR_GRID for node in nodes)
        if hands_on and (not self._one_framework or self._has_no_effect(side, nodes)):
            return Relation.CONVERSION
        return Relation.ADDED if group.candidate else Relation.REMOVED

    def _has_no_effect(self, side: int, nodes: Sequence[Node]) -> bool:
        if all(node.op in _WITHOUT_EFFECT for node in nodes):
            return True
        if all(node.op == "Transpose" for node in nodes):
            perms = [_permutation(node) for node in nodes]
            return all(self._permutations[side][_inverse(perm)] for perm in perms)
        first, last = nodes[0].inputs[:1], nodes[-1].outputs[:1]
        if not first or not last or any(node.op == "Transpose" for node in nodes):
            return False
        graph = self._sides[side]
        same_type = graph.graph.declared_dtype(first[0]) == graph.graph.declared_dtype(last[0])
        return same_type and graph.shape(first[0]) == graph.shape(last[0]) is not None

    @cached_property
    def _permutations(self) -> tuple[Counter[Permutation], Counter[Permutation]]:
        """The transpositions that only one side has, of either side."""
        found: tuple[Counter[Permutation], Counter[Permutation]] = (Counter(), Counter())
        for group in self._groups:
            if group.reference and group.candidate:
                continue
            for side, places in enumerate((group.reference, group.candidate)):
                nodes = (self._sides[side].nodes[place] for place in places)
                found[side].update(_permutation(n) for n in nodes if n.op == "Transpose")
        return found


def _permutation(node: Node) -> Permutation:
    return tuple(node.attributes.get("perm") or ())


def _inverse(perm: Permutation) -> Permutation:
    return tuple(sorted(range(len(perm)), key=lambda axis: perm[axis]))
