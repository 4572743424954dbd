"""Walk to the first wrong tensor, put the right value in its place, and go on.

A substitution counts only if it heals: a tensor behind it becomes right, or the output does.
So a wrong guess about what corresponds to what costs a trial, not a verdict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.errors import IsomorphError
from isomorph.core.limits import DISTANCE, SUBSTITUTIONS, TENSORS_BEHIND, noted_limits
from isomorph.localize.error_location import own_error, where
from isomorph.localize.fault import Fault, likeliest
from isomorph.localize.lost_fusion import cut_at_zero, cut_next, still_to_come
from isomorph.localize.shape_tensors import of_its_own
from isomorph.localize.substitution import Substitution, as_it_is
from isomorph.localize.wrong_position import PASSING, hands_on, misplaced
from isomorph.localize.wrong_shape import resized
from isomorph.match.axis_layout import arrangements
from isomorph.match.value_match import rearrangements

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.core.trace import Array
    from isomorph.match.value_match import ValueMatcher

_BEHIND = 5


class Search:
    """One pass over the candidate with some tensors already put right."""

    def __init__(
        self,
        matcher: ValueMatcher,
        outputs: Sequence[tuple[str, str]],
        given: Mapping[str, Array],
    ) -> None:
        self.matcher, self.outputs, self.given = matcher, outputs, given
        self.reference, self.candidate = matcher.reference, matcher.candidate
        self.values = self.candidate.with_given(given)
        self.pairs = {name: matcher.pair(name, self.values[name]) for name in self.values}
        inputs = {spec.name for spec in self.candidate.graph.inputs}
        self.right = {name for name, pair in self.pairs.items() if pair is not None}
        self.right |= set(given) | inputs
        self.seen = {pair[0] for pair in self.pairs.values() if pair is not None}
        self.right |= of_its_own(self)
        self._cut = cut_at_zero(self.candidate.graph)

    def wrong_outputs(self) -> list[tuple[str, str]]:
        """The bound outputs that do not agree, place by place."""
        return [
            (ref, cand)
            for ref, cand in self.outputs
            if cand in self.values and not self.agrees(ref, cand, self.values[cand])
        ]

    def agrees(self, ref: str, cand: str, value: Array) -> bool:
        """Whether an output is the reference's, in its plainest arrangement."""
        source = self.reference.values.get(ref)
        if source is None:
            return True
        first = next(iter(rearrangements(source, value.shape)), None)
        if first is None or not self._fits(ref, value):
            return False
        return self.matcher.equal(ref, cand, first.array(source), value)

    def _fits(self, mine: str, value: Array) -> bool:
        """Whether the axes of a tensor are the reference's in some order, and not cut otherwise."""
        shape = self.reference.values[mine].shape
        if shape == value.shape:
            return True
        return not self.matcher.same_axes and bool(arrangements(shape, value.shape))

    def astray(self) -> list[str]:
        """Every computed tensor that is none of the reference's."""
        return [
            n for n in self.values if n not in self.right and n in self.candidate.topology.maker
        ]

    def next_fault(self, *, everywhere: bool = False) -> Fault | None:
        """The first place whose substitution heals what lies behind it.

        On the way to a wrong output or, ``everywhere``, wherever a tensor is astray: then what
        is right stays as it is, since no output speaks against it.
        """
        with noted_limits() as hit:
            found = self._first_fault(everywhere=everywhere)
        for limit in hit:
            # How far is looked matters where nothing was found; what was not tried, always.
            if found is None or limit in (SUBSTITUTIONS, TENSORS_BEHIND):
                limit.reached()
        return found

    def _first_fault(self, *, everywhere: bool) -> Fault | None:
        wrong = self.astray() if everywhere else [cand for _, cand in self.wrong_outputs()]
        tried, spare = 0, None
        for layer in self._proposals(wrong, of_right=not everywhere):
            best: tuple[int, Substitution] | None = None
            for proposal in layer:
                tried += 1
                if tried > SUBSTITUTIONS.most:
                    SUBSTITUTIONS.reached()
                    break
                healed = self._heals(proposal, everywhere=everywhere)
                if healed and (best is None or healed > best[0]):
                    best = healed, proposal
                    if healed >= self._healable(proposal):
                        break
            # Farther down more would heal, and the guilty node would be hidden in a crowd.
            if best is None:
                continue
            explains = self._explains(best[1])
            if spare is None and best[1].tensor in self.right and not explains:
                spare = best[1]  # it is right as it stands: a wrong one may explain everything
                continue
            return self.fault(best[1] if spare is None or explains else spare)
        return None if spare is None else self.fault(spare)

    def _explains(self, proposal: Substitution) -> bool:
        """Whether every output is right with this alone put right."""
        given = {**self.given, proposal.tensor: self.placed(proposal)}
        found = self._recomputed([cand for _, cand in self.outputs], given)
        return all(
            cand in found and self.agrees(ref, cand, found[cand])
            for ref, cand in self.outputs
            if cand in self.values
        )

    def entries(self, wrong: Sequence[str]) -> list[Node]:
        """Where wrongness begins: nodes whose inputs are right and whose outputs are not."""
        return self._entries(self._region(wrong))

    def _region(self, wrong: Sequence[str]) -> set[str]:
        """The tensors that are not right and lead to a wrong output through none that is."""
        region, open_ends = set(wrong), list(wrong)
        while open_ends:
            maker = self.candidate.topology.maker.get(open_ends.pop())
            for source in self.candidate.topology.sources(maker) if maker is not None else ():
                if source not in self.right and source not in region:
                    region.add(source)
                    open_ends.append(source)
        return region

    def _entries(self, region: set[str]) -> list[Node]:
        """Nodes whose inputs are right and whose outputs are not."""
        topology = self.candidate.topology
        return [
            node
            for node in self.candidate.graph.nodes
            if any(name in region for name in node.outputs)
            and all(source in self.right for source in topology.sources(node))
        ]

    def _proposals(
        self, wrong: Sequence[str], *, of_right: bool
    ) -> Iterator[Iterator[Substitution]]:
        """Layer by layer, what may be put in place of what; ``of_right`` tensors first."""
        region = self._region(wrong)
        entries = self._entries(region)
        if of_right:
            yield from resized(self, wrong)
            yield from misplaced(self, entries, wrong)
        for layer in self._layers(entries, region):
            yield (proposal for tensor in layer for proposal in self._counterparts(tensor))
            yield (proposal for tensor in layer for proposal in self._of_another_size(tensor))

    def _of_another_size(self, tensor: str) -> Iterator[Substitution]:
        """What the same operator makes in the reference, where it makes more or fewer elements."""
        value, maker = self.values[tensor], self.candidate.topology.maker[tensor]
        bound = [ref for ref, cand in self.outputs if cand == tensor]
        for name in bound or self.near_the_front():
            other, ref = self.reference.values[name], self.reference.topology.maker.get(name)
            if bound and self.matcher.same_axes and other.shape != value.shape:
                yield as_it_is(self.reference, tensor, name)
                continue
            alike = ref is not None and ref.op == maker.op and other.ndim == value.ndim
            if alike and other.size != value.size and other.dtype.kind == value.dtype.kind:
                yield as_it_is(self.reference, tensor, name)

    def _layers(self, entries: Sequence[Node], region: set[str]) -> Iterator[list[str]]:
        """Wrong tensors by their distance from what is right."""
        layer = [name for node in entries for name in node.outputs if name in region]
        reached: set[str] = set()
        for _ in range(DISTANCE.most):
            if not layer:
                return
            yield layer
            reached |= set(layer)
            readers = (n for name in layer for n in self.candidate.topology.readers.get(name, ()))
            layer = list(
                dict.fromkeys(
                    name
                    for node in readers
                    for name in node.outputs
                    if name in region and name not in reached
                )
            )
        if layer:
            DISTANCE.reached()

    def _counterparts(self, tensor: str) -> Iterator[Substitution]:
        """Tensors of the reference that nothing of the candidate equals yet, likeliest first."""
        value = self.values[tensor]
        bound = [ref for ref, cand in self.outputs if cand == tensor]
        maker = self.candidate.topology.maker[tensor]
        lonely = bound or self._fitting(self.near_the_front(), value)
        lonely.sort(key=lambda name: self._unlike(name, maker, value))
        permuted = set(self.matcher.of(tensor, value))
        makers = self.reference.topology.maker
        for name in dict.fromkeys([*lonely, *self._fitting(self._untouched(tensor), value)]):
            if still_to_come(tensor, self.candidate.topology, makers.get(name)):
                continue
            if name in bound and not self._fits(name, value):
                continue  # in the candidate's shape it would be wrong again
            if tensor in self._cut and cut_next(name, self.reference.topology):
                continue  # a grid that begins at zero does the cutting: what comes next is meant
            for moved in rearrangements(self.reference.values[name], value.shape):
                yield Substitution(
                    tensor=tensor, counterpart=name, moved=moved, permuted=name in permuted
                )

    def _fitting(self, names: Sequence[str], value: Array) -> list[str]:
        """Those with as many elements; an integer may stand for a float, not the reverse."""
        return [
            name
            for name in names
            if self.reference.prints[name].elements == value.size
            and (self.reference.values[name].dtype.kind in "iub" or value.dtype.kind == "f")
        ]

    def _untouched(self, tensor: str) -> list[str]:
        """Twins of the last right tensors before this one: what it is if nothing should happen."""
        topology = self.candidate.topology
        edge = topology.above(tensor, until=()) & self.right
        between = topology.above(tensor, until=self.right) | {tensor}
        makers = [topology.maker[name] for name in between if name in topology.maker]
        sources = {source for maker in makers for source in topology.sources(maker)} & edge
        return [pair[0] for name in sources if (pair := self.pairs.get(name)) is not None]

    def near_the_front(self) -> list[str]:
        """Tensors of the reference without a twin, no farther than a few nodes behind one."""
        topology = self.reference.topology
        known = self.seen | {spec.name for spec in self.reference.graph.inputs}
        distance: dict[str, int] = {}
        for node in self.reference.graph.nodes:
            sources = topology.sources(node)
            if not sources:
                continue
            last = DISTANCE.most
            far = max(0 if name in known else distance.get(name, last) for name in sources)
            fresh = [name for name in node.outputs if name not in known]
            if fresh and far >= last:
                DISTANCE.reached()
            for name in fresh if far < last else ():
                # What holds no numbers (a list of tensors) is a way, not a step.
                distance[name] = far + (name in self.reference.values)
        there = [name for name in distance if name in self.reference.values]
        return sorted(there, key=lambda name: distance[name])

    def _unlike(self, name: str, maker: Node, value: Array) -> tuple[bool, bool]:
        other = self.reference.topology.maker.get(name)
        return other is None or other.op != maker.op, self.reference.values[
            name
        ].shape != value.shape

    def _heals(self, proposal: Substitution, *, everywhere: bool) -> int:
        """How many tensors right behind it become right; an output put right counts as one."""
        given = {**self.given, proposal.tensor: self.placed(proposal)}
        every = self._behind(proposal.tensor)
        behind = every[: TENSORS_BEHIND.most]
        reshaped = proposal.moved.shape != self.values[proposal.tensor].shape
        bound = [(ref, cand) for ref, cand in self.outputs if cand == proposal.tensor]
        healed = sum(ref == proposal.counterpart for ref, _ in bound)
        if (proposal.permuted or reshaped) and not behind:
            # What was right in another order may have healed farther down only.
            behind = [cand for _, cand in self.wrong_outputs()]
        # A twin counts only where the reference, too, computes it from what was put in:
        # small integers are equal by accident.
        after = self.reference.topology.below([proposal.counterpart])
        same = self.reference.prints[proposal.counterpart]
        elsewhere = self._held_elsewhere(proposal.tensor) if everywhere else self.seen
        mates = {cand: ref for ref, cand in self.outputs}
        for name, value in self._recomputed(behind, given).items():
            if name in mates and not self._fits(mates[name], value):
                continue
            healed += any(
                ref == mates.get(name)
                # What was put in and merely passed on proves nothing.
                # Nor does what the candidate holds elsewhere: an earlier layer, done again.
                or (ref in after and ref not in elsewhere and self.reference.prints[ref] != same)
                for ref, _ in self.matcher.pairs(name, value)
            )
        if not healed and len(every) > TENSORS_BEHIND.most:
            TENSORS_BEHIND.reached()
        return healed

    def _held_elsewhere(self, tensor: str) -> set[str]:
        """The reference's tensors whose twins are not computed from this one.

        Farther down, a twin may be one for its noise alone.
        """
        below = self.candidate.topology.below([tensor])
        return {
            pair[0] for name, pair in self.pairs.items() if pair is not None and name not in below
        }

    def _recomputed(self, names: Sequence[str], given: Mapping[str, Array]) -> dict[str, Array]:
        try:
            return self.candidate.run(names, given)
        except (IsomorphError, ValueError):
            return {}  # what does not take a tensor of another size is not healed by it

    def _healable(self, proposal: Substitution) -> int:
        return max(1, min(len(self._behind(proposal.tensor)), TENSORS_BEHIND.most))

    def _behind(self, tensor: str) -> list[str]:
        """The wrong tensors that are computed from this one within a few nodes.

        One node is not enough: a bias that is added apart hides the twin of the sum. Nodes that
        pass on what they get do not count: a quantized graph has three between any two others.
        """
        found: list[str] = []
        layer, passed = [tensor], {tensor}
        for _ in range(_BEHIND):
            open_ends, layer = layer, []
            while open_ends:
                for node in self.candidate.topology.readers.get(open_ends.pop(0), ()):
                    made = [n for n in node.outputs if n in self.values and n not in passed]
                    fresh = [name for name in made if name not in self.right]
                    found += fresh
                    # What is passed on may be right as well, and yet not what belongs there.
                    passing = node.op in PASSING or (
                        not fresh and any(hands_on(self, name, node) for name in made)
                    )
                    passed.update(made if passing else fresh)
                    (open_ends if passing else layer).extend(made if passing else fresh)
        return found

    def placed(self, proposal: Substitution) -> Array:
        """The right value as the candidate would hold it."""
        value = proposal.moved.array(self.reference.values[proposal.counterpart])
        with np.errstate(over="ignore"):
            # NumPy makes a vector of a contiguous scalar.
            whole = np.ascontiguousarray(value.astype(self.values[proposal.tensor].dtype))
        return whole.reshape(value.shape)

    def fault(self, proposal: Substitution) -> Fault:
        """What follows for the nodes before the tensor if this proposal heals."""
        topology = self.candidate.topology
        between = topology.above(proposal.tensor, until=self.right) | {proposal.tensor}
        group = [n for n in self.candidate.graph.nodes if set(n.outputs) & between]
        cand = self.reference.topology
        ref = cand.above(proposal.counterpart, until=self.seen) | {proposal.counterpart}
        right = self.placed(proposal)
        return Fault(
            node=likeliest(
                group,
                [topology.maker[name] for name in self.given],
                cand.maker.get(proposal.counterpart),
            ).name,
            nodes=tuple(n.name for n in group),
            tensor=proposal.tensor,
            counterpart=proposal.counterpart,
            reference_nodes=tuple(
                n.name for n in self.reference.graph.nodes if set(n.outputs) & ref
            ),
            moved=proposal.moved,
            value=right,
            local_error=own_error(self.values[proposal.tensor], right),
            permuted=proposal.permuted and self._same_values(proposal),
            shape=self.values[proposal.tensor].shape,
            where=where(
                self.values[proposal.tensor],
                right,
                self.matcher.max_difference(proposal.counterpart, proposal.tensor),
            ),
        )

    def _same_values(self, proposal: Substitution) -> bool:
        """Whether the values really are the reference's: coarser ones have the same moments."""
        ref, cand = proposal.counterpart, proposal.tensor
        sides = self.reference.values[ref], self.values[cand]
        return self.matcher.equal(ref, cand, *(np.sort(side, axis=None) for side in sides))
