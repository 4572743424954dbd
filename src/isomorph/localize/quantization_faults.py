"""What lower precision costs, judged by the nodes behind it: a fault may hide in a loss."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.chance import FALSE_ALARM, beyond_another, student
from isomorph.core.divergence import Verdict
from isomorph.localize.fault_chain import beyond_noise
from isomorph.match.tensor_capture import rms_and_peak
from isomorph.match.value_match import rearrangements
from isomorph.measure.spread import MANY_DRAWS

if TYPE_CHECKING:
    from isomorph.core.divergence import Divergence
    from isomorph.core.trace import Array
    from isomorph.localize.fault import Fault
    from isomorph.localize.locate import Located
    from isomorph.match.value_match import ValueMatcher
    from isomorph.measure.compare import Comparison


def settled(comparison: Comparison, located: Located) -> Comparison:
    """Losses judged by the nodes behind them: off beyond its own precision, or none is.

    A loss within its budget is divergent where one node is. One that is beyond it, but not
    beyond doubt, is what its precision costs where none is enough of a reason, and nothing is
    left unexplained.
    """
    beyond = [each for each in located.chain.faults if each.share and _off(located.matcher, each)]
    if located.chain.explained and not _reason_enough(comparison, beyond):
        return _acquitted(comparison)
    graph = located.matcher.candidate.graph
    # What a body stores with less precision is not disturbed there, and a cast that is spelled
    # out is no noise: it is what the model says.
    dark = {node.name for node in graph.nodes if node.bodies or node.op == "Cast"}
    faults = [
        each
        for each in beyond
        if dark.isdisjoint(each.nodes) and not _lost_on_its_grids(located.matcher, each)
    ]
    return _convicted(comparison, located, faults) if faults else comparison


def _reason_enough(comparison: Comparison, faults: Sequence[Fault]) -> bool:
    """Whether the loss would be within its budget without what these nodes do.

    What several do adds up in squares, as what is independent does.
    """
    losses = [each.intended_loss for each in comparison.divergences]
    most = max((each.budget.ratio or 0.0 for each in losses if each is not None), default=0.0)
    explained = sum(1.0 - (1.0 - (each.share or 0.0)) ** 2 for each in faults)
    return bool(faults) and most * math.sqrt(max(0.0, 1.0 - explained)) <= 1.0


def _off(matcher: ValueMatcher, fault: Fault) -> bool:
    """Whether it is beyond its noise, with its grids or without, and has no twin after all."""
    wrong = matcher.candidate.values[fault.tensor]
    with_grids = beyond_noise(matcher, fault, wrong) and _beyond(matcher, fault, grids=True)
    # A grid may cut off what a fault has moved beyond its ends.
    if not with_grids and _lost_on_its_grids(matcher, fault):
        return False
    return not _has_match(matcher, fault)


def _has_match(matcher: ValueMatcher, fault: Fault) -> bool:
    """Whether the reference has this tensor, and the candidate the one that it is taken for.

    A few elements may go farther than the draws have shown; then the walk takes a tensor for
    wrong whose twin is there. But where an operator was lost, what it read is there as well,
    and what it made is not.
    """
    ref, cand = matcher.reference, matcher.candidate
    size = cand.prints[fault.tensor].elements
    found = [
        name
        for name in ref.values
        if ref.prints[name].elements == size and _alike(matcher, name, fault.tensor)
    ]
    return bool(found) and any(
        _alike(matcher, fault.counterpart, name)
        for name in cand.values
        if cand.prints[name].elements == size
        and (name != fault.tensor or fault.counterpart in found)
    )


def _alike(matcher: ValueMatcher, ref: str, cand: str) -> bool:
    """Whether two tensors differ, all in all, by no more than noise, in any arrangement."""
    left, right = matcher.reference.values[ref], matcher.candidate.values[cand]
    return any(
        rms_and_peak(moved.array(left), right)[0] <= matcher.tolerance(ref, cand)
        for moved in rearrangements(left, right.shape)
    )


def _lost_on_its_grids(matcher: ValueMatcher, fault: Fault) -> bool:
    """Whether it is right where all quantizers are left out, as they are in the draws.

    A grid was fitted to samples that nobody knows: on others it cuts values off, or is coarser
    than it had to be. That is a loss, and the outputs tell how grave; what a node does wrong
    beside it stays without any grid.
    """
    return not _beyond(matcher, fault, grids=False)


def _beyond(matcher: ValueMatcher, fault: Fault, *, grids: bool) -> bool:
    """Whether it is off by more than its noise, as many draws show it, with its grids or without.

    What is lost before it moves all of a small tensor as one: then the few draws of the walk are
    few numbers, and not as many as there are elements.
    """
    wrong = matcher.candidate.values[fault.tensor]
    if wrong.shape != fault.value.shape:
        return True
    drawn = matcher.candidate.drawn(fault.tensor, MANY_DRAWS)
    noise = math.hypot(drawn.rms, matcher.reference.spread[fault.counterpart])
    found = wrong if grids else drawn.center
    kept = _not_cut_off(fault.value, found)
    return (
        rms_and_peak(fault.value[kept], found[kept])[0] > student(wrong.size, drawn.freedom) * noise
    )


def _not_cut_off(right: Array, found: Array) -> Array:
    """All elements but those that stand at an end of a range, if chance can cut off as many."""
    low, high = np.min(found, initial=np.inf), np.max(found, initial=-np.inf)
    cut = ((right < low) & (found == low)) | ((right > high) & (found == high))
    excused = beyond_another(int(np.count_nonzero(cut)), right.size) >= FALSE_ALARM
    return np.asarray(~cut if excused else np.ones(right.shape, bool))


def _convicted(comparison: Comparison, located: Located, faults: Sequence[Fault]) -> Comparison:
    reason = (
        f"within the loss that its precision intends, but {faults[0].node!r} is off by more than "
        "its own precision explains"
    )
    names = [each.tensor for each in faults]
    reached = located.matcher.candidate.topology.below(names) | set(names)
    return _judged(
        comparison,
        lambda each: each.verdict is Verdict.DEGRADED and each.candidate_output in reached,
        Verdict.DIVERGENT,
        reason,
    )


def _acquitted(comparison: Comparison) -> Comparison:
    return _judged(
        comparison,
        lambda each: each.verdict is Verdict.DIVERGENT,
        Verdict.DEGRADED,
        "loses a little more than was drawn for its lower precision, and no node more than its own",
    )


def _judged(
    comparison: Comparison, which: Callable[[Divergence], bool], verdict: Verdict, reason: str
) -> Comparison:
    found = [which(each) for each in comparison.divergences]
    if not any(found):
        return comparison
    divergences = tuple(
        replace(each, verdict=verdict, reason=reason) if chosen else each
        for each, chosen in zip(comparison.divergences, found, strict=True)
    )
    return replace(comparison, divergences=divergences)
