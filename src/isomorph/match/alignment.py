"""Align two graphs whose tensors were captured: tensors, constants, subgraphs, fused nodes."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.alignment import (
    Alignment,
    Confidence,
    Group,
    Pair,
    PairEvidence,
    TensorKind,
    Unaligned,
)
from isomorph.match.assignment import Assignment, Partner
from isomorph.match.concatenated_constants import match_concatenated
from isomorph.match.constants import NO_VALUES, Constants, describe_rearrangement
from isomorph.match.folded_constants import match_folded
from isomorph.match.fused_groups import connected_nodes, fused_groups
from isomorph.match.quantized_match import quantized_pairs
from isomorph.match.quantizers import quantization_by_tensor
from isomorph.match.structural_match import match_by_structure
from isomorph.match.subgraphs import SubgraphAlignment

if TYPE_CHECKING:
    from isomorph.core.model import Graph
    from isomorph.core.trace import Array
    from isomorph.match.axis_layout import Rearrangement
    from isomorph.match.tensor_capture import TensorCapture
    from isomorph.match.topology import Topology
    from isomorph.match.value_match import ValueMatcher

Counterpart = tuple[str, "Rearrangement"]
_QUANTIZERS = frozenset({"QuantizeLinear", "DequantizeLinear"})


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignmentInput:
    """The captured tensors of two graphs, and which of them are known to be equal.

    ``values`` are the candidate's tensors, computed with the faulty ones corrected. ``equal`` maps
    each of them to the reference's tensor with the same values. ``substituted`` maps each faulty
    tensor to the reference's tensor that replaces it.
    """

    matcher: ValueMatcher
    values: Mapping[str, Array]
    equal: Mapping[str, Counterpart | None]
    substituted: Mapping[str, Counterpart] = field(default_factory=dict)


def untouched_graphs(matcher: ValueMatcher) -> AlignmentInput:
    """Return the input of an alignment in which no tensor was substituted."""
    values = matcher.candidate.values
    return AlignmentInput(
        matcher=matcher,
        values=values,
        equal={name: matcher.pair(name, values[name]) for name in values},
    )


def align_graphs(graphs: AlignmentInput) -> Alignment:
    """Align tensors by value, then by structure; then constants, subgraphs and fused nodes.

    Whatever has no counterpart is listed with the reason.
    """
    steps = _Alignment(graphs)
    tensors = [*steps.by_value(), *steps.by_substitution()]
    tensors += steps.others()
    tensors += steps.by_quantization()
    tensors += steps.by_structure()
    constants = steps.constants()
    stored = {pair.candidate: pair.reference[0] for pair in constants.pairs}
    bodies = SubgraphAlignment(*steps.topologies, {**stored, **steps.known})
    found_groups = tuple(fused_groups(*steps.topologies, steps.sets))
    return Alignment(
        inputs=1,
        pairs=(*tensors, *constants.pairs, *bodies.pairs),
        groups=found_groups,
        unaligned_reference=(
            *steps.unaligned(0, found_groups, constants.unmatched_reference),
            *bodies.unaligned[0],
        ),
        unaligned_candidate=(
            *steps.unaligned(1, found_groups, constants.unmatched_candidate),
            *bodies.unaligned[1],
        ),
    )


class _Alignment:
    """The steps of an alignment; each one uses what the steps before it have matched."""

    def __init__(self, graphs: AlignmentInput) -> None:
        self.graphs, self.matcher = graphs, graphs.matcher
        self.sides = graphs.matcher.reference, graphs.matcher.candidate
        self.topologies = self.sides[0].topology, self.sides[1].topology
        certain = {
            name: pair
            for name, pair in graphs.equal.items()
            if pair is not None
            and name not in graphs.substituted
            # Where the size of the noise is unknown, a difference within it proves nothing.
            and np.isfinite(graphs.matcher.tolerance(pair[0], name))
        }
        settled = {name: pair[0] for name, pair in graphs.substituted.items()}
        self._assignment = Assignment(graphs.matcher, graphs.values, certain, settled)
        self.partners = self._assignment.partners
        self._others = self._assignment.others()
        self.known = {name: each.reference for name, each in self.partners.items()}
        self.known |= settled
        also = [(ref, cand) for ref, (cand, _) in self._others.items()]
        pairs = [(ref, cand) for cand, ref in self.known.items()]
        self.sets = connected_nodes(*self.topologies, [*pairs, *also])
        self._taken = {*self.known.values(), *self._others}
        self._grids = tuple(quantization_by_tensor(side.graph) for side in self.sides)

    def by_value(self) -> Iterator[Pair]:
        """Pairs of equal values."""
        for name, partner in self.partners.items():
            yield self._pair(name, partner)

    def _pair(self, name: str, partner: Partner) -> Pair:
        mark = self.sides[0].prints[partner.reference]
        evidence: list[PairEvidence] = ["value"]
        evidence += ["structure"] if partner.structure else []
        evidence += ["provenance"] if self._named(partner.reference, name) else []
        distinct = mark.least != mark.most and not partner.rivals
        inputs = {spec.name for spec in self.sides[1].graph.inputs}
        return Pair(
            kind="input" if name in inputs else "tensor",
            reference=(partner.reference,),
            candidate=name,
            transform=self._transform(partner.reference, name, partner.moved),
            permutation=partner.moved.permutation if partner.moved.moves else (),
            shape=partner.moved.shape if self._shifts(partner.reference, partner.moved) else (),
            evidence=tuple(evidence),
            inputs=1,
            rivals=partner.rivals,
            confidence=Confidence.CERTAIN if distinct or partner.structure else Confidence.LIKELY,
        )

    def _named(self, ref: str, cand: str) -> bool:
        """Whether both have one name, or makers from one module of the user's program."""
        if ref == cand:
            return True
        makers = self.topologies[0].maker.get(ref), self.topologies[1].maker.get(cand)
        modules = [each.source.module if each and each.source else None for each in makers]
        return modules[0] is not None and modules[0] == modules[1]

    def _shifts(self, ref: str, moved: Rearrangement) -> bool:
        return moved.moves or self.sides[0].shapes[ref] != moved.shape

    def _transform(self, ref: str, name: str, moved: Rearrangement) -> str:
        changes = [describe_rearrangement(moved)] if self._shifts(ref, moved) else []
        grids = ref in self._grids[0], name in self._grids[1]
        if grids[0] != grids[1]:
            changes.append("quantized" if grids[1] else "dequantized")
        return ", ".join(changes) or "as it is"

    def by_substitution(self) -> Iterator[Pair]:
        """Yield faulty tensors with the tensor whose substitution restored what follows."""
        for name, (ref, moved) in self.graphs.substituted.items():
            yield Pair(
                kind="tensor",
                reference=(ref,),
                candidate=name,
                transform=", ".join(
                    [
                        *([describe_rearrangement(moved)] if self._shifts(ref, moved) else []),
                        "other numbers",
                    ]
                ),
                permutation=moved.permutation if moved.moves else (),
                shape=moved.shape if self._shifts(ref, moved) else (),
                evidence=("substitution", *(("provenance",) if self._named(ref, name) else ())),
                confidence=Confidence.LIKELY,
            )

    def others(self) -> Iterator[Pair]:
        """Yield further tensors of the reference whose values are those of a matched tensor."""
        for ref, (cand, moved) in self._others.items():
            yield self._pair(cand, Partner(reference=ref, moved=moved, rivals=1))

    def by_quantization(self) -> Iterator[Pair]:
        """Yield quantized tensors with the reference's tensor of the same real values."""
        # Their nodes belong to one group with the quantizers: no tensor between them is known.
        for each in quantized_pairs(self.matcher, self.graphs.values, self._grids[1], self.known):
            self.known[each.candidate] = each.reference
            yield Pair(
                kind="tensor",
                reference=(each.reference,),
                candidate=each.candidate,
                transform=", ".join(
                    [
                        *(
                            [describe_rearrangement(each.moved)]
                            if self._shifts(each.reference, each.moved)
                            else []
                        ),
                        f"quantized to {self._grids[1][each.candidate].dtype}",
                    ]
                ),
                permutation=each.moved.permutation if each.moved.moves else (),
                shape=each.moved.shape if self._shifts(each.reference, each.moved) else (),
                evidence=("value",),
                inputs=1,
                confidence=Confidence.LIKELY,
            )

    def by_structure(self) -> Iterator[Pair]:
        """Yield tensors that the same operators compute from aligned tensors, but are not equal."""
        graphs = self.sides[0].graph, self.sides[1].graph
        for name, ref in match_by_structure(*graphs, self.known, {}).items():
            live = (ref in self.topologies[0].live, name in self.topologies[1].live)
            if name in self.known or ref in self._taken or not all(live):
                continue
            self.known[name] = ref
            self._taken.add(ref)
            yield Pair(
                kind="tensor",
                reference=(ref,),
                candidate=name,
                transform="other numbers",
                evidence=("structure", *(("provenance",) if self._named(ref, name) else ())),
            )

    def constants(self) -> Constants:
        """Align the constants, each placed by the set of nodes that reads it."""
        owners = tuple(_owners(topology) for topology in self.topologies)

        def place(side: int, name: str) -> Hashable:
            owner = owners[side].get(name)
            return None if owner is None else self.sets.root((side, owner))

        readers = self.sides[0].stored, self.sides[1].stored
        found = Constants((self.sides[0].graph, self.sides[1].graph), readers, place)
        found.align()
        match_folded(found)
        match_concatenated(found)
        found.align_by_place()
        return found

    def unaligned(
        self, side: int, found_groups: tuple[Group, ...], constants: Mapping[str, None]
    ) -> Iterator[Unaligned]:
        """Yield what has no counterpart on this side, with the reason."""
        capture, topology = self.sides[side], self.topologies[side]
        partners = self._taken if side == 0 else set(self.known)
        names = [spec.name for spec in capture.graph.inputs]
        fused = {name for each in found_groups for name in (each.reference, each.candidate)[side]}
        for name in [*names, *capture.names]:
            if name not in partners:
                kind: TensorKind = "input" if name in names else "tensor"
                maker = topology.maker.get(name)
                within = maker is not None and maker.name in fused
                yield Unaligned(name=name, kind=kind, reason=_reason(capture, name, within=within))
        grids = _grid_parameters(capture.graph)
        for name in constants:
            reason = _GRID if name in grids else NO_VALUES
            yield Unaligned(name=name, kind="constant", reason=reason)


_GRID = "a parameter of a quantizer that the other side does not have"


def _grid_parameters(graph: Graph) -> set[str]:
    """Return the names of scales and zero points."""
    quantizers = (node for node in graph.nodes if node.op in _QUANTIZERS)
    return {name for node in quantizers for name in node.inputs[1:]}


def _reason(capture: TensorCapture, name: str, *, within: bool) -> str:
    if name not in capture.values:
        return "it holds no numbers that could be compared"
    if within:
        return "a step inside a group of nodes that the other side computes in another way"
    return "no tensor of the other side holds its values"


def _owners(topology: Topology) -> dict[str, str]:
    """Return the data-dependent node that each constant reaches, directly or through others."""
    owners: dict[str, str] = {}
    for node in reversed(topology.graph.nodes):
        live = any(name in topology.live for name in node.outputs)
        owner = node.name if live else next((owners[n] for n in node.outputs if n in owners), None)
        if owner is not None:
            owners.update(dict.fromkeys(topology.reads(node), owner))
    return owners
