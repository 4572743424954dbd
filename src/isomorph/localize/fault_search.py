"""Search for the first wrong tensor whose substitution restores what follows.

A substitution counts only if it restores a later tensor or an output. A wrong guess about which
tensors correspond therefore costs a trial, and does not change the verdict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.errors import IsomorphError
from isomorph.core.limits import (
    DISTANCE,
    NODES_BEHIND,
    SUBSTITUTIONS,
    TENSORS_BEHIND,
    noted_limits,
)
from isomorph.localize.error_location import describe_error, relative_error
from isomorph.localize.fault import Fault, likeliest_node, placed_value, repeated
from isomorph.localize.lost_fusion import activation_follows, only_rectified, rectified_tensors
from isomorph.localize.shape_tensors import extra_size_tensors, reads_sizes
from isomorph.localize.substitution import Substitution, unreshaped
from isomorph.localize.substitution_order import (
    LimitedTrials,
    by_turns,
    of_right_tensors,
    unmatched_after,
)
from isomorph.localize.wrong_position import PASSES_ON, passes_on
from isomorph.match.axis_layout import arrangements
from isomorph.match.value_match import rearrangements

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.core.trace import Array
    from isomorph.match.value_match import ValueMatcher


class Search:
    """One pass over the candidate with some tensors already corrected (``given``)."""

    def __init__(
        self,
        matcher: ValueMatcher,
        outputs: Sequence[tuple[str, str]],
        given: Mapping[str, Array],
    ) -> None:
        self.matcher, self.outputs, self.given = matcher, outputs, given
        self.reference, self.candidate = matcher.reference, matcher.candidate
        self.values = self.candidate.with_given(given)
        self.pairs = matcher.all_pairs(given)
        inputs = {spec.name for spec in self.candidate.graph.inputs}
        self.right = {name for name, pair in self.pairs.items() if pair is not None}
        self.right |= set(given) | inputs
        self.seen = {pair[0] for pair in self.pairs.values() if pair is not None}
        self.right |= extra_size_tensors(self)
        self._rectified = rectified_tensors(self.candidate.graph)
        self._placed: tuple[Substitution, Array] | None = None

    def wrong_outputs(self) -> list[tuple[str, str]]:
        """Return the pairs of bound outputs that do not agree."""
        return [
            (ref, cand)
            for ref, cand in self.outputs
            if cand in self.values and not self.agrees(ref, cand, self.values[cand])
        ]

    def agrees(self, ref: str, cand: str, value: Array) -> bool:
        """Whether an output equals the reference's in its simplest arrangement."""
        source = self.reference.values.get(ref)
        if source is None:
            return True
        first = next(iter(rearrangements(source, value.shape)), None)
        if first is None or not self._fits(ref, value):
            return False
        return self.matcher.equal(ref, cand, first.array(source), value)

    def _fits(self, ref: str, value: Array) -> bool:
        """Whether a value has the axes of the reference's tensor in some order."""
        shape = self.reference.values[ref].shape
        if shape == value.shape:
            return True
        return not self.matcher.same_axes and bool(arrangements(shape, value.shape))

    def unmatched(self) -> list[str]:
        """Return every computed tensor that equals none of the reference."""
        return [
            n for n in self.values if n not in self.right and n in self.candidate.topology.maker
        ]

    def next_fault(self, *, everywhere: bool = False) -> Fault | None:
        """Return the first fault whose correction restores what follows it.

        The search starts at the wrong outputs or, with ``everywhere``, at every unmatched tensor;
        then tensors that are right are not replaced, since no output is wrong because of them.
        """
        with noted_limits() as hit:
            found = self._first_fault(everywhere=everywhere)
        for limit in hit:
            # The distance matters only where nothing was found; untried places always matter.
            if found is None or limit in (SUBSTITUTIONS, TENSORS_BEHIND):
                limit.reached()
        return found

    def _first_fault(self, *, everywhere: bool) -> Fault | None:
        wrong = self.unmatched() if everywhere else [cand for _, cand in self.wrong_outputs()]
        trials, fallback = LimitedTrials(self), None
        region = self._region(wrong)
        entries = self._entries(region)
        of_wrong = self._of_wrong(entries, region)
        of_right = of_right_tensors(self, entries, wrong)
        for layer in of_wrong if everywhere else by_turns(of_right, of_wrong):
            best: tuple[float, Substitution] | None = None
            for proposal in trials.of(layer):
                restored = self._restored(proposal, everywhere=everywhere)
                if restored and (best is None or restored > best[0]):
                    best = restored, proposal
                    if restored >= self._restorable(proposal):
                        break
            # Later layers would restore more, but hide the faulty node in a large group.
            if best is None:
                continue
            explains = self._explains(best[1])
            if fallback is None and best[1].tensor in self.right and not explains:
                fallback = best[1]  # the tensor itself is right: a wrong one may explain more
                continue
            return self.fault(best[1] if fallback is None or explains else fallback)
        return None if fallback is None else self.fault(fallback)

    def _explains(self, proposal: Substitution) -> bool:
        """Whether every output is right when this tensor alone is substituted."""
        given = {**self.given, proposal.tensor: self.placed(proposal)}
        # Everything is computed with the outputs: the next search asks for the same values.
        found = self._recomputed([cand for _, cand in self.outputs], given, ahead=True)
        return all(
            cand in found and self.agrees(ref, cand, found[cand])
            for ref, cand in self.outputs
            if cand in self.values
        )

    def entries(self, wrong: Sequence[str]) -> list[Node]:
        """Return the first nodes before ``wrong`` whose inputs are right and outputs are not."""
        return self._entries(self._region(wrong))

    def _region(self, wrong: Sequence[str]) -> set[str]:
        """Return the wrong tensors that reach a wrong output through wrong tensors only."""
        region, open_ends = set(wrong), list(wrong)
        while open_ends:
            maker = self.candidate.topology.maker.get(open_ends.pop())
            for source in self.candidate.topology.sources(maker) if maker is not None else ():
                if source not in self.right and source not in region:
                    region.add(source)
                    open_ends.append(source)
        return region

    def _entries(self, region: set[str]) -> list[Node]:
        """Return the nodes whose inputs are right and whose outputs are in the region."""
        topology = self.candidate.topology
        return [
            node
            for node in self.candidate.graph.nodes
            if any(name in region for name in node.outputs)
            and all(source in self.right for source in topology.sources(node))
        ]

    def _of_wrong(
        self, entries: Sequence[Node], region: set[str]
    ) -> Iterator[Iterator[Substitution]]:
        """Yield substitutions of wrong tensors, layer by layer."""
        for layer in self._layers(entries, region):
            yield (proposal for tensor in layer for proposal in self._counterparts(tensor))
            yield (proposal for tensor in layer for proposal in self._resized_counterparts(tensor))

    def _resized_counterparts(self, tensor: str) -> Iterator[Substitution]:
        """Yield results of the same operator in the reference with another element count."""
        value, maker = self.values[tensor], self.candidate.topology.maker[tensor]
        bound = [ref for ref, cand in self.outputs if cand == tensor]
        for name in bound or self.frontier:
            other, ref = self.reference.values[name], self.reference.topology.maker.get(name)
            if bound and self.matcher.same_axes and other.shape != value.shape:
                yield unreshaped(self.reference, tensor, name)
                continue
            same_kind = ref is not None and ref.op == maker.op and other.ndim == value.ndim
            if same_kind and other.size != value.size and other.dtype.kind == value.dtype.kind:
                yield unreshaped(self.reference, tensor, name)

    def _layers(self, entries: Sequence[Node], region: set[str]) -> Iterator[list[str]]:
        """Yield the wrong tensors by their distance from the right ones."""
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
        """Yield unmatched tensors of the reference as substitutions, the likeliest first."""
        value = self.values[tensor]
        bound = [ref for ref, cand in self.outputs if cand == tensor]
        maker = self.candidate.topology.maker[tensor]
        unmatched = bound or self.fitting(self.frontier, value)
        unmatched.sort(key=lambda name: self._mismatch(name, maker, value))
        permuted = set(self.matcher.of(tensor, value))
        makers = self.reference.topology.maker
        for name in dict.fromkeys([*unmatched, *self.fitting(self.matched_sources(tensor), value)]):
            if activation_follows(tensor, self.candidate.topology, makers.get(name)):
                continue
            if name in bound and not self._fits(name, value):
                continue  # reshaped to the candidate's shape, the output would be wrong again
            if tensor in self._rectified and only_rectified(name, self.reference.topology):
                continue  # the quantization range does the rectifying: the next tensor corresponds
            for moved in rearrangements(self.reference.values[name], value.shape):
                yield Substitution(
                    tensor=tensor, counterpart=name, moved=moved, permuted=name in permuted
                )

    def fitting(self, names: Sequence[str], value: Array) -> list[str]:
        """Keep those of the same size; an integer may replace a float, not the reverse."""
        return [
            name
            for name in names
            if self.reference.prints[name].elements == value.size
            and (self.reference.values[name].dtype.kind in "iub" or value.dtype.kind == "f")
        ]

    def matched_sources(self, tensor: str) -> list[str]:
        """Return counterparts of the last right tensors before this one, for a no-op."""
        topology = self.candidate.topology
        edge = topology.above(tensor, until=()) & self.right
        between = topology.above(tensor, until=self.right) | {tensor}
        makers = [topology.maker[name] for name in between if name in topology.maker]
        sources = {source for maker in makers for source in topology.sources(maker)} & edge
        return [pair[0] for name in sources if (pair := self.pairs.get(name)) is not None]

    @cached_property
    def frontier(self) -> tuple[str, ...]:
        """The unmatched tensors of the reference within a few nodes after matched ones."""
        known = self.seen | {spec.name for spec in self.reference.graph.inputs}
        return tuple(unmatched_after(self.reference, known))

    def _mismatch(self, name: str, maker: Node, value: Array) -> tuple[bool, bool]:
        other = self.reference.topology.maker.get(name)
        shape = self.reference.values[name].shape
        return other is None or other.op != maker.op, shape != value.shape

    def _restored(self, proposal: Substitution, *, everywhere: bool) -> float:
        """Count the following tensors that a substitution restores; an output counts as one."""
        given = {**self.given, proposal.tensor: self.placed(proposal)}
        every = self._behind(proposal.tensor)
        behind = every[: TENSORS_BEHIND.most]
        reshaped = proposal.moved.shape != self.values[proposal.tensor].shape
        bound = [(ref, cand) for ref, cand in self.outputs if cand == proposal.tensor]
        restored = float(sum(ref == proposal.counterpart for ref, _ in bound))
        if (proposal.permuted or reshaped) and not behind:
            # A reordered or reshaped tensor may restore only the outputs.
            behind = [cand for _, cand in self.wrong_outputs()]
        # A match counts only where the reference, too, computes it from the substituted tensor:
        # small integers are equal by accident.
        after = self.reference.topology.below([proposal.counterpart])
        same = self.reference.prints[proposal.counterpart]
        elsewhere = self._matched_elsewhere(proposal.tensor) if everywhere else self.seen
        output_pairs = {cand: ref for ref, cand in self.outputs}
        for name, value in self._recomputed(behind, given).items():
            own = output_pairs.get(name)
            if repeated(value) if own is None else not self._fits(own, value):
                continue
            matches = any(
                ref == own
                # What is merely passed on, or computed elsewhere as well, proves nothing.
                or (ref in after and ref not in elsewhere and self.reference.prints[ref] != same)
                for ref, _ in self.matcher.pairs(name, value)
            )
            # Axes of one size may be exchanged: an output with its values in another order counts
            # for less than in its own.
            own_order = own is None or self.agrees(own, name, value)
            restored += (1.0 if own_order else 0.5) if matches else 0.0
        if not restored and len(every) > TENSORS_BEHIND.most:
            TENSORS_BEHIND.reached()
        return restored

    def _matched_elsewhere(self, tensor: str) -> set[str]:
        """Return the reference's tensors that match one not computed from ``tensor``.

        Tensors computed from it may match within their noise only.
        """
        below = self.candidate.topology.below([tensor])
        return {
            pair[0] for name, pair in self.pairs.items() if pair is not None and name not in below
        }

    def _recomputed(
        self, names: Sequence[str], given: Mapping[str, Array], *, ahead: bool = False
    ) -> dict[str, Array]:
        try:
            return (self.candidate.run_ahead if ahead else self.candidate.run)(names, given)
        except (IsomorphError, ValueError):
            return {}  # a node that rejects a tensor of another size is not restored by it

    def _restorable(self, proposal: Substitution) -> int:
        return max(1, min(len(self._behind(proposal.tensor)), TENSORS_BEHIND.most))

    def _behind(self, tensor: str) -> list[str]:
        """Return the wrong tensors that are computed from this one within a few nodes.

        One node is not enough: with a separate bias node the sum has no counterpart. Nodes that
        pass on their input do not count: a quantized graph has three between any two others. What
        reads its sizes alone repeats the sizes of what was put there, whatever the values are.
        """
        found: list[str] = []
        layer, passed = [tensor], {tensor}
        for _ in range(NODES_BEHIND.most):
            open_ends, layer = layer, []
            while open_ends:
                for node in self.candidate.topology.readers.get(open_ends.pop(0), ()):
                    if reads_sizes(self.candidate, node):
                        continue
                    made = [n for n in node.outputs if n in self.values and n not in passed]
                    fresh = [name for name in made if name not in self.right]
                    found += fresh
                    # A value that is passed on may match a tensor and still be misplaced.
                    passing = node.op in PASSES_ON or (
                        not fresh and any(passes_on(self, name, node) for name in made)
                    )
                    passed.update(made if passing else fresh)
                    (open_ends if passing else layer).extend(made if passing else fresh)
        if layer:
            NODES_BEHIND.reached()
        return found

    def placed(self, proposal: Substitution) -> Array:
        """Return the right value in the candidate's type."""
        # The same array again: by it the values that depend on it are found again.
        if self._placed is None or self._placed[0] is not proposal:
            source = self.reference.values[proposal.counterpart]
            like = self.values[proposal.tensor]
            self._placed = proposal, placed_value(proposal.moved, source, like)
        return self._placed[1]

    def fault(self, proposal: Substitution) -> Fault:
        """Build the fault that a successful substitution proves."""
        topology = self.candidate.topology
        between = topology.above(proposal.tensor, until=self.right) | {proposal.tensor}
        group = [n for n in self.candidate.graph.nodes if set(n.outputs) & between]
        ref_topology = self.reference.topology
        ref_between = ref_topology.above(proposal.counterpart, until=self.seen) | {
            proposal.counterpart
        }
        wrong, right = self.values[proposal.tensor], self.placed(proposal)
        allowed = self.matcher.max_difference(proposal.counterpart, proposal.tensor)
        return Fault(
            node=likeliest_node(
                group,
                [topology.maker[name] for name in self.given],
                ref_topology.maker.get(proposal.counterpart),
            ).name,
            nodes=tuple(n.name for n in group),
            tensor=proposal.tensor,
            counterpart=proposal.counterpart,
            reference_nodes=tuple(
                n.name for n in self.reference.graph.nodes if set(n.outputs) & ref_between
            ),
            moved=proposal.moved,
            value=right,
            local_error=relative_error(wrong, right),
            permuted=proposal.permuted and self._same_values(proposal),
            shape=wrong.shape,
            where=describe_error(wrong, right, allowed),
        )

    def _same_values(self, proposal: Substitution) -> bool:
        """Whether the sorted values are equal: coarser values may have the same moments."""
        ref, cand = proposal.counterpart, proposal.tensor
        left, right = np.sort(self.reference.values[ref], None), np.sort(self.values[cand], None)
        return self.matcher.equal(ref, cand, left, right)
