"""Which constants of a group differ, and which could not be compared with anything.

A group computes with other nodes what the reference computes, so a constant on one side follows
from several on the other. What no known rewrite explains is unknown, and never counts as equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from isomorph.core.errors import IsomorphError
from isomorph.core.messages import message
from isomorph.core.model_diff import ChangeKind, NodeChange
from isomorph.core.ops import FUSED
from isomorph.diffing.attribute_changes import attribute_changes
from isomorph.diffing.folded_layers import FoldedLayers
from isomorph.match.constant_difference import WeightComparison
from isomorph.match.weight_differences import compared_weights

if TYPE_CHECKING:
    from isomorph.diffing.constant_changes import ConstantChanges
    from isomorph.diffing.folded_layers import FoldedLayer
    from isomorph.diffing.linked_graph import LinkedGraph
    from isomorph.match.constant_difference import ConstantDifference
    from isomorph.match.stored_weights import Weights

_STATED_ALONE = frozenset({FUSED, "activation", "min", "max"})
"""Attributes that stand for a node of their own on the other side."""


_PRODUCTS = frozenset({"Gemm", "MatMul"})


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupComparison:
    """What differs between the numbers of a group, and what was not compared."""

    changes: tuple[NodeChange, ...] = ()
    uncompared: tuple[str, ...] = ()
    """Constants of either side whose counterpart is not known."""
    attributes: bool = False
    """Whether attributes and single numbers were compared as well."""


class StoredNumbers:
    """The weights of both models, compared when a group first needs it."""

    def __init__(self, reference: Weights, candidate: Weights) -> None:
        self.sides = reference, candidate

    @cached_property
    def comparison(self) -> WeightComparison:
        """What differs and what is explained; nothing of either where values cannot be read."""
        try:
            return compared_weights(*self.sides)
        except IsomorphError:
            return WeightComparison(differences=())

    @cached_property
    def differences(self) -> dict[str, ConstantDifference]:
        """The candidate's weights that are wrong, by name."""
        return {each.weight.name: each for each in self.comparison.differences}

    @cached_property
    def layers(self) -> FoldedLayers:
        """The linear layers of both sides."""
        return FoldedLayers(*self.sides)


class GroupConstants:
    """Compares the constants of groups; without ``numbers`` only by what they hold as a whole."""

    def __init__(
        self,
        sides: tuple[LinkedGraph, LinkedGraph],
        constants: ConstantChanges,
        numbers: Callable[[], StoredNumbers | None] | None,
        *,
        one_framework: bool,
        one_layout: bool,
    ) -> None:
        self._sides, self._constants, self._opened = sides, constants, numbers
        self._one_framework, self._one_layout = one_framework, one_layout

    @cached_property
    def _numbers(self) -> StoredNumbers | None:
        return None if self._opened is None else self._opened()

    def compared(self, reference: Sequence[int], candidate: Sequence[int]) -> GroupComparison:
        """Compare the constants of nodes, by their places."""
        places = reference, candidate
        ones, others = (list(self._weights(side, places[side])) for side in (0, 1))
        moved = self._constants.without_equal(ones, others)
        differing = self._differing(others)
        if not differing and not moved.changes:
            whole = self._as_layers(places)
            if whole is not None:
                return whole
        return GroupComparison(
            changes=(*moved.changes, *map(_weight_change, differing)),
            uncompared=(*moved.uncompared, *self._unexplained(ones, others)),
        )

    def _weights(self, side: int, places: Sequence[int]) -> Iterator[str]:
        """The constant tensors of several numbers that live nodes read."""
        graph = self._sides[side]
        live = (place for place in places if graph.is_live[place])
        names = dict.fromkeys(name for place in live for name in graph.constants[place])
        return (name for name in names if graph.is_weight(name) or self._is_grid(side, name))

    def _is_grid(self, side: int, name: str) -> bool:
        """Whether a constant holds integers that stand for real numbers."""
        stored = self._sides[side].graph.constants.get(name)
        if stored is None or "int" not in stored.dtype or self._numbers is None:
            return False
        return name in self._numbers.sides[side].stored

    def _stored(self, side: int, tensors: Sequence[str]) -> dict[str, None]:
        """The stored constants that tensors are computed from."""
        graph, found = self._sides[side], dict[str, None]()
        open_ends, seen = list(tensors), set(tensors)
        while open_ends:
            name = open_ends.pop(0)
            if name in graph.graph.constants:
                found[name] = None
            made = graph.maker.get(name)
            fresh = [n for n in (graph.reads[made[0]] if made is not None else ()) if n not in seen]
            seen.update(fresh)
            open_ends += fresh
        return found

    def _differing(self, tensors: Sequence[str]) -> list[ConstantDifference]:
        if self._numbers is None:
            return []
        known = self._numbers.differences
        return [known[name] for name in self._stored(1, tensors) if name in known]

    def _unexplained(self, ones: Sequence[str], others: Sequence[str]) -> Iterator[str]:
        """The constants of either side that nothing of the other side explains."""
        numbers = self._numbers
        if numbers is None:
            yield from (*ones, *others)
            return
        own = self._stored(0, ones)
        used: set[str] = set()
        left: list[str] = []
        for tensor in others:
            names = [n for n in self._stored(1, [tensor]) if n in numbers.sides[1].stored]
            for name in names:
                sources = self._sources(name)
                if own.keys() & sources:
                    used.update(sources)
                else:
                    left.append(name)
            if not names:
                left.append(tensor)
        open_ones = [
            tensor
            for tensor in ones
            if any(
                n in numbers.sides[0].stored and n not in used for n in self._stored(0, [tensor])
            )
        ]
        yield from open_ones
        # Numbers of another place of the reference are explained where none of this place are left.
        yield from (name for name in left if open_ones or not self._sources(name))

    def _sources(self, name: str) -> tuple[str, ...]:
        """The reference's weights that one of the candidate was compared with."""
        if self._numbers is None:
            return ()
        found = self._numbers.differences.get(name)
        if found is not None:
            return found.reference
        return self._numbers.comparison.explained.get(name, ())

    def _as_layers(self, places: tuple[Sequence[int], Sequence[int]]) -> GroupComparison | None:
        """Compare a group that is one linear layer on each side; None where it is anything else."""
        if self._numbers is None:
            return None
        layers = self._numbers.layers
        found: list[FoldedLayer] = []
        for side, graph in enumerate(self._sides):
            nodes = [graph.nodes[place] for place in places[side] if graph.is_live[place]]
            floats = [n for p in places[side] if graph.is_live[p] for n in graph.constants[p]]
            layer = layers.layer(side, nodes, {n for n in floats if self._is_float(side, n)})
            if layer is None:
                return None
            found.append(layer)
        changes = layers.changes(*found)
        if changes is None:
            return None
        attributes = self._attributes(layers, *found)
        return GroupComparison(
            changes=(*(attributes or ()), *changes), attributes=attributes is not None
        )

    def _is_float(self, side: int, name: str) -> bool:
        stored = self._sides[side].stored(name)
        return stored is None or "float" in stored.dtype

    def _attributes(
        self, layers: FoldedLayers, ref: FoldedLayer, cand: FoldedLayer
    ) -> list[NodeChange] | None:
        """The attributes of two layers of one operator that differ; None if these say too little.

        What nodes besides the layer state must be known to be folded, or the same on both sides.
        """
        if ref.activations != cand.activations or not (ref.is_folded and cand.is_folded):
            return None
        if ref.linear.op != cand.linear.op:
            # A product states nothing but the order of its kernel's axes, which sizes may tell.
            products = {ref.linear.op, cand.linear.op} <= _PRODUCTS
            return [] if products and layers.orders_axes(cand) else None
        graphs = self._sides[0].graph, self._sides[1].graph
        found = attribute_changes(
            graphs, ref.linear, cand.linear, one_framework=self._one_framework,
            one_layout=self._one_layout,
        )  # fmt: skip
        return [each for each in found if each.name not in _STATED_ALONE]


def _weight_change(found: ConstantDifference) -> NodeChange:
    place, expected, actual = found.shown[0] if found.shown else ((), None, None)
    count = int(found.beyond.sum())
    return NodeChange(
        kind=ChangeKind.CONSTANT,
        name=found.weight.name,
        reference="" if expected is None else f"{expected:.6g}",
        candidate="" if actual is None else f"{actual:.6g}",
        detail=message(
            "DIFF.not_those",
            count=count,
            size=found.beyond.size,
            names=", ".join(found.reference) or message("DIFF.the_reference"),
            place=list(place),
        ),
    )
