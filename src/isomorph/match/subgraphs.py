"""Align the bodies of If, Loop, Scan and While: tensors by structure, constants by digest.

No oracle returns the values inside a body, so nothing here is proven by value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from isomorph.core.alignment import Pair, Unaligned
from isomorph.match.constants import NO_VALUES, Constants
from isomorph.match.structural_match import match_by_structure

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node, TensorSpec
    from isomorph.core.trace import Array
    from isomorph.match.topology import Topology

_NOT_ALIKE = "nothing in the other body is computed the same way"


class SubgraphAlignment:
    """The aligned bodies of aligned nodes; ``known`` are the aligned tensors outside."""

    def __init__(self, reference: Topology, candidate: Topology, known: Mapping[str, str]) -> None:
        self.pairs: list[Pair] = []
        self.unaligned: tuple[list[Unaligned], list[Unaligned]] = ([], [])
        for node in candidate.graph.nodes:
            makers = [reference.maker.get(known.get(name, "")) for name in node.outputs]
            other = next((each for each in makers if each is not None and each.bodies), None)
            if node.bodies and other is not None:
                self._bodies((other, node), known, ("", ""))

    def _bodies(
        self, nodes: tuple[Node, Node], known: Mapping[str, str], above: tuple[str, str]
    ) -> None:
        reference, candidate = nodes
        for key in candidate.bodies:
            if key not in reference.bodies:
                continue
            graphs = reference.bodies[key], candidate.bodies[key]
            places = f"{above[0]}{reference.name}/{key}/", f"{above[1]}{candidate.name}/{key}/"
            inputs = _aligned_ends(
                graphs[0].inputs, graphs[1].inputs, reference.inputs, candidate.inputs, known
            )
            ends = _aligned_ends(
                graphs[0].outputs, graphs[1].outputs, reference.outputs, candidate.outputs, known
            )
            found = {**inputs, **match_by_structure(*graphs, {**known, **inputs}, ends)}
            self._tensors(graphs, found, places)
            self._constants(graphs, places)
            for inner, partner in _nested(graphs, found):
                self._bodies((partner, inner), {**known, **found}, places)

    def _tensors(
        self, graphs: tuple[Graph, Graph], found: Mapping[str, str], places: tuple[str, str]
    ) -> None:
        for name, ref in found.items():
            self.pairs.append(
                Pair(
                    kind="body",
                    reference=(places[0] + ref,),
                    candidate=places[1] + name,
                    transform="values not seen",
                    evidence=("structure", *(("provenance",) if ref == name else ())),
                )
            )
        for side, paired in enumerate((set(found.values()), set(found))):
            self.unaligned[side].extend(
                Unaligned(name=places[side] + name, kind="body", reason=_NOT_ALIKE)
                for node in graphs[side].nodes
                for name in node.outputs
                if name and name not in paired and name not in graphs[side].constants
            )

    def _constants(self, graphs: tuple[Graph, Graph], places: tuple[str, str]) -> None:
        stored = Constants(graphs, (_unread, _unread), lambda _side, _name: None)
        stored.align()
        for pair in stored.pairs:
            ref = tuple(places[0] + each for each in pair.reference)
            self.pairs.append(replace(pair, reference=ref, candidate=places[1] + pair.candidate))
        for side, unmatched in enumerate((stored.unmatched_reference, stored.unmatched_candidate)):
            self.unaligned[side].extend(
                Unaligned(name=places[side] + name, kind="constant", reason=NO_VALUES)
                for name in unmatched
            )


def _nested(graphs: tuple[Graph, Graph], found: Mapping[str, str]) -> Iterator[tuple[Node, Node]]:
    """Yield the nodes inside a body that have bodies themselves, with their counterparts."""
    makers = {name: node for node in graphs[0].nodes for name in node.outputs if name}
    for node in graphs[1].nodes:
        partners = [makers.get(found.get(name, "")) for name in node.outputs]
        other = next((each for each in partners if each is not None and each.bodies), None)
        if node.bodies and other is not None:
            yield node, other


def _unread(_names: Sequence[str]) -> Mapping[str, Array]:
    return {}


def _aligned_ends(
    ref: Sequence[TensorSpec],
    cand: Sequence[TensorSpec],
    outside: tuple[str, ...],
    here: tuple[str, ...],
    known: Mapping[str, str],
) -> dict[str, str]:
    """Pair the inputs or outputs of two bodies that correspond to aligned tensors outside.

    The last inputs of a body belong to the last inputs of its node: a Loop's body has its counter
    and its condition before them. What stays unpaired is paired by position.
    """
    left = [spec.name for spec in ref][::-1]
    right = [spec.name for spec in cand][::-1]
    there = {name: place for place, name in enumerate(outside[::-1]) if name}
    found: dict[str, str] = {}
    for place, name in enumerate(here[::-1][: len(right)]):
        partner = there.get(known.get(name, ""))
        if partner is not None and partner < len(left):
            found[right[place]] = left[partner]
    if len(left) == len(right) and len(outside) == len(here):
        taken = set(found.values())
        free = {one: other for one, other in zip(right, left, strict=True) if one not in found}
        found.update({one: other for one, other in free.items() if other not in taken})
    return found
