"""The one pairing of two graphs that were looked at: tensors, constants, bodies, fused nodes."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.alignment import Alignment, Confidence, Group, Pair, Unaligned
from isomorph.match.assignment import Assignment, Partner
from isomorph.match.concatenated_constants import join
from isomorph.match.constants import NO_VALUES, Constants, words
from isomorph.match.folded_constants import fold
from isomorph.match.fused_groups import Joined, groups, joined
from isomorph.match.quantized_match import quanta
from isomorph.match.quantizers import written
from isomorph.match.structural_match import congruent
from isomorph.match.subgraphs import Insides

if TYPE_CHECKING:
    from isomorph.core.model import Graph
    from isomorph.core.trace import Array
    from isomorph.match.axis_layout import Rearrangement
    from isomorph.match.tensor_capture import TensorCapture
    from isomorph.match.topology import Topology
    from isomorph.match.value_match import ValueMatcher

Found = tuple[str, "Rearrangement"]
_QUANTIZERS = frozenset({"QuantizeLinear", "DequantizeLinear"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What is known when two graphs are aligned.

    ``values`` are the candidate's, with what was found guilty put right; ``equal`` the tensor of
    the reference that equals each of them; ``put_right`` what stands in for the guilty ones.
    """

    matcher: ValueMatcher
    values: Mapping[str, Array]
    equal: Mapping[str, Found | None]
    put_right: Mapping[str, Found] = field(default_factory=dict)


def seen(matcher: ValueMatcher) -> Seen:
    """Two graphs as they are."""
    values = matcher.candidate.values
    return Seen(
        matcher=matcher,
        values=values,
        equal={name: matcher.pair(name, values[name]) for name in values},
    )


def aligned(given: Seen) -> Alignment:
    """Tensors by value, then by structure; constants; what is fused; what remains and why."""
    work = _Work(given)
    tensors = [*work.by_value(), *work.by_substitution()]
    tensors += work.others()
    tensors += work.by_quanta()
    tensors += work.by_structure()
    constants = work.constants()
    stored = {pair.candidate: pair.reference[0] for pair in constants.pairs}
    inside = Insides(*work.topologies, {**stored, **work.known})
    found = tuple(groups(*work.topologies, work.sets))
    return Alignment(
        inputs=1,
        pairs=(*tensors, *constants.pairs, *inside.pairs),
        groups=found,
        unaligned_reference=(*work.unaligned(0, found, constants.left), *inside.unaligned[0]),
        unaligned_candidate=(*work.unaligned(1, found, constants.open), *inside.unaligned[1]),
    )


class _Work:
    """What accumulates on the way to an alignment."""

    def __init__(self, given: Seen) -> None:
        self.given, self.matcher = given, given.matcher
        self.sides = given.matcher.reference, given.matcher.candidate
        self.topologies = self.sides[0].topology, self.sides[1].topology
        certain = {
            name: pair
            for name, pair in given.equal.items()
            if pair is not None
            and name not in given.put_right
            # Where not even the size of the noise is known, being within it says nothing.
            and np.isfinite(given.matcher.tolerance(pair[0], name))
        }
        settled = {name: pair[0] for name, pair in given.put_right.items()}
        self._assignment = Assignment(given.matcher, given.values, certain, settled)
        self.partners = self._assignment.partners
        self._others = self._assignment.others()
        self.known = {name: each.reference for name, each in self.partners.items()}
        self.known |= settled
        also = [(ref, cand) for ref, (cand, _) in self._others.items()]
        pairs = [(ref, cand) for cand, ref in self.known.items()]
        self.sets: Joined = joined(*self.topologies, [*pairs, *also])
        self._taken = {*self.known.values(), *self._others}
        self._grids = tuple(written(side.graph) for side in self.sides)

    def by_value(self) -> Iterator[Pair]:
        """Pairs of equal values."""
        for name, partner in self.partners.items():
            yield self._pair(name, partner)

    def _pair(self, name: str, partner: Partner) -> Pair:
        mark = self.sides[0].prints[partner.reference]
        evidence = ["value"]
        evidence += ["structure"] if partner.structure else []
        evidence += ["provenance"] if self._named(partner.reference, name) else []
        telling = mark.least != mark.most and not partner.rivals
        inputs = {spec.name for spec in self.sides[1].graph.inputs}
        return Pair(
            kind="input" if name in inputs else "tensor",
            reference=(partner.reference,),
            candidate=name,
            transform=self._told(partner.reference, name, partner.moved),
            permutation=partner.moved.permutation if partner.moved.moves else (),
            shape=partner.moved.shape if self._shifts(partner.reference, partner.moved) else (),
            evidence=tuple(evidence),
            inputs=1,
            rivals=partner.rivals,
            confidence=Confidence.CERTAIN if telling or partner.structure else Confidence.LIKELY,
        )

    def _named(self, ref: str, cand: str) -> bool:
        """The same name, or makers that come from the same module of the user's program."""
        if ref == cand:
            return True
        makers = self.topologies[0].maker.get(ref), self.topologies[1].maker.get(cand)
        modules = [each.source.module if each and each.source else None for each in makers]
        return modules[0] is not None and modules[0] == modules[1]

    def _shifts(self, mine: str, moved: Rearrangement) -> bool:
        return moved.moves or self.sides[0].shapes[mine] != moved.shape

    def _told(self, mine: str, name: str, moved: Rearrangement) -> str:
        told = [words(moved)] if self._shifts(mine, moved) else []
        grids = mine in self._grids[0], name in self._grids[1]
        if grids[0] != grids[1]:
            told.append("quantized" if grids[1] else "dequantized")
        return ", ".join(told) or "as it is"

    def by_substitution(self) -> Iterator[Pair]:
        """What was put in the place of a guilty tensor, and healed what lies behind it."""
        for name, (mine, moved) in self.given.put_right.items():
            yield Pair(
                kind="tensor",
                reference=(mine,),
                candidate=name,
                transform=", ".join(
                    [*([words(moved)] if self._shifts(mine, moved) else []), "other numbers"]
                ),
                permutation=moved.permutation if moved.moves else (),
                shape=moved.shape if self._shifts(mine, moved) else (),
                evidence=("substitution", *(("provenance",) if self._named(mine, name) else ())),
                confidence=Confidence.LIKELY,
            )

    def others(self) -> Iterator[Pair]:
        """Further tensors of the reference with the values of one that has a partner already."""
        for ref, (cand, moved) in self._others.items():
            yield self._pair(cand, Partner(reference=ref, moved=moved, rivals=1))

    def by_quanta(self) -> Iterator[Pair]:
        """Integers beside the real numbers they stand for."""
        # Their nodes are in one group with those that quantize: nothing is known between them.
        for each in quanta(self.matcher, self.given.values, self._grids[1], self.known):
            self.known[each.candidate] = each.reference
            yield Pair(
                kind="tensor",
                reference=(each.reference,),
                candidate=each.candidate,
                transform=", ".join(
                    [
                        *([words(each.moved)] if self._shifts(each.reference, each.moved) else []),
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
        """What is computed alike from aligned tensors, and yet is not equal."""
        graphs = self.sides[0].graph, self.sides[1].graph
        for name, mine in congruent(*graphs, self.known, {}).items():
            live = (mine in self.topologies[0].live, name in self.topologies[1].live)
            if name in self.known or mine in self._taken or not all(live):
                continue
            self.known[name] = mine
            self._taken.add(mine)
            yield Pair(
                kind="tensor",
                reference=(mine,),
                candidate=name,
                transform="other numbers",
                evidence=("structure", *(("provenance",) if self._named(mine, name) else ())),
            )

    def constants(self) -> Constants:
        """Stored values, placed by the sets of nodes that read them."""
        owners = tuple(_owners(topology) for topology in self.topologies)

        def place(side: int, name: str) -> Hashable:
            owner = owners[side].get(name)
            return None if owner is None else self.sets.top((side, owner))

        readers = self.sides[0].stored, self.sides[1].stored
        found = Constants((self.sides[0].graph, self.sides[1].graph), readers, place)
        found.align()
        fold(found)
        join(found)
        found.align_by_place()
        return found

    def unaligned(
        self, side: int, found: tuple[Group, ...], constants: Mapping[str, None]
    ) -> Iterator[Unaligned]:
        """What has no counterpart on this side, with the reason."""
        capture, topology = self.sides[side], self.topologies[side]
        partners = self._taken if side == 0 else set(self.known)
        names = [spec.name for spec in capture.graph.inputs]
        fused = {name for each in found for name in (each.reference, each.candidate)[side]}
        for name in [*names, *capture.names]:
            if name not in partners:
                kind = "input" if name in names else "tensor"
                maker = topology.maker.get(name)
                within = maker is not None and maker.name in fused
                yield Unaligned(name=name, kind=kind, reason=_reason(capture, name, within=within))
        grids = _grid_parameters(capture.graph)
        for name in constants:
            reason = _GRID if name in grids else NO_VALUES
            yield Unaligned(name=name, kind="constant", reason=reason)


_GRID = "a parameter of a quantizer that the other side does not have"


def _grid_parameters(graph: Graph) -> set[str]:
    """Scales and zero points."""
    quantizers = (node for node in graph.nodes if node.op in _QUANTIZERS)
    return {name for node in quantizers for name in node.inputs[1:]}


def _reason(capture: TensorCapture, name: str, *, within: bool) -> str:
    if name not in capture.values:
        return "it holds no numbers that could be compared"
    if within:
        return "a step inside a group of nodes that the other side computes in another way"
    return "no tensor of the other side holds its values"


def _owners(topology: Topology) -> dict[str, str]:
    """The node on the way of the data that each constant goes into, by way of fixed nodes too."""
    owners: dict[str, str] = {}
    for node in reversed(topology.graph.nodes):
        live = any(name in topology.live for name in node.outputs)
        owner = node.name if live else next((owners[n] for n in node.outputs if n in owners), None)
        if owner is not None:
            owners.update(dict.fromkeys(topology.reads(node), owner))
    return owners
