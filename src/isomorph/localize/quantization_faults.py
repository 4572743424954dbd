"""Judge the loss of a lower precision by its nodes: the loss may hide a fault."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.chance import FALSE_ALARM, beyond_another, student, threshold
from isomorph.core.divergence import Verdict
from isomorph.core.messages import message
from isomorph.core.stated_numbers import MANY_DRAWS
from isomorph.localize.fault_chain import beyond_noise
from isomorph.match.attributes import node_differences
from isomorph.match.value_match import rearrangements
from isomorph.oracle.noise import unit_roundoff
from isomorph.oracle.sizes import rms_and_peak

if TYPE_CHECKING:
    from isomorph.core.divergence import Divergence
    from isomorph.core.trace import Array
    from isomorph.localize.fault import Fault
    from isomorph.localize.locate import Located
    from isomorph.match.value_match import ValueMatcher
    from isomorph.measure.compare import Comparison


def judge_losses(comparison: Comparison, located: Located) -> Comparison:
    """Judge losses by whether a node is wrong beyond its own precision.

    A loss within its budget becomes divergent if one node is. A loss beyond its budget, but not
    beyond doubt, becomes degraded if no such node explains it and nothing is unexplained.
    """
    suspected = [each for each in located.chain.faults if each.share]
    # Every one of them is held against its own draws: the same runs serve all.
    located.matcher.candidate.draw_together([each.tensor for each in suspected], MANY_DRAWS)
    unlike = [each for each in suspected if _states_another_number(located.matcher, each)]
    beyond = [each for each in suspected if each in unlike or _off(located.matcher, each)]
    if located.chain.explained and not _reason_enough(comparison, beyond):
        return _as_degraded(comparison)
    graph = located.matcher.candidate.graph
    # Constants inside a body are not disturbed by the noise, and an explicit cast is part of the
    # model, not noise.
    opaque = {node.name for node in graph.nodes if node.bodies or node.op == "Cast"}
    faults = [
        each
        for each in beyond
        if opaque.isdisjoint(each.nodes)
        and (each in unlike or not _lost_on_its_grids(located.matcher, each))
        and not makes_right_wrong(located.matcher, each)
    ]
    return _as_divergent(comparison, located, faults) if faults else comparison


def _reason_enough(comparison: Comparison, faults: Sequence[Fault]) -> bool:
    """Whether the loss would be within its budget without these faults.

    The effects of several faults add up in squares, as independent ones do.
    """
    losses = [each.intended_loss for each in comparison.divergences]
    most = max((each.budget.ratio or 0.0 for each in losses if each is not None), default=0.0)
    explained = sum(1.0 - (1.0 - (each.share or 0.0)) ** 2 for each in faults)
    return bool(faults) and most * math.sqrt(max(0.0, 1.0 - explained)) <= 1.0


def _states_another_number(matcher: ValueMatcher, fault: Fault) -> bool:
    """Whether a fault exceeds its noise, and its node has another real number as an attribute.

    No quantizer changes an attribute. So what the search saw is no loss, even where its noise is
    almost as large, or where few elements depend on the number.
    """
    ref, cand = matcher.reference, matcher.candidate
    node = cand.topology.maker.get(fault.tensor)
    counterpart = ref.topology.maker.get(fault.counterpart)
    if node is None or counterpart is None or node.op != counterpart.op:
        return False
    graphs = ref.graph, cand.graph
    differences = node_differences(node, counterpart, graphs, one_framework=False)
    real = any(isinstance(each.expected, float) for each in differences)
    return real and _beyond_with_grids(matcher, fault)


def _beyond_with_grids(matcher: ValueMatcher, fault: Fault) -> bool:
    wrong = matcher.candidate.values[fault.tensor]
    return beyond_noise(matcher, fault, wrong) and _beyond(matcher, fault, grids=True)


def _off(matcher: ValueMatcher, fault: Fault) -> bool:
    """Whether a fault exceeds its noise, with or without quantization, and has no match."""
    with_grids = _beyond_with_grids(matcher, fault)
    # A quantization range may clip what a fault has moved beyond it.
    if not with_grids and _lost_on_its_grids(matcher, fault):
        return False
    return not _has_match(matcher, fault)


def _has_match(matcher: ValueMatcher, fault: Fault) -> bool:
    """Whether the reference has this tensor, and the candidate has its supposed counterpart.

    A few elements may differ by more than the draws show; then the search takes a tensor for wrong
    that has a match. But where an operator was lost, its input has a match and its output has none.
    Where an activation is built into a layer, what it reads has none, and its own result has.
    Among layers of one size, the search may put the result of the next one in a tensor's place: the
    activation behind it is then that of the next one, which the reference has.
    """
    ref, cand = matcher.reference, matcher.candidate
    size = cand.prints[fault.tensor].elements
    # The search has put the right values in its place, which have no noise.
    drawn = cand.drawn(fault.tensor, MANY_DRAWS)
    found = [
        name
        for name in ref.values
        if ref.prints[name].elements == size
        and _equal_within_noise(matcher, name, fault.tensor, drawn.rms)
    ]
    if not ref.topology.below([fault.counterpart]).isdisjoint(found):
        return True
    others = [
        name
        for name in cand.values
        if cand.prints[name].elements == size
        and (name != fault.tensor or fault.counterpart in found)
    ]
    if not found or not others:
        return False
    right = ref.values[fault.counterpart]
    nearest = min(others, key=lambda name: _rms(right, cand.values[name]))
    return any(_equal_within_noise(matcher, fault.counterpart, name) for name in others) or (
        _equal_within_noise(
            matcher, fault.counterpart, nearest, cand.drawn(nearest, MANY_DRAWS).rms
        )
    )


def makes_right_wrong(matcher: ValueMatcher, fault: Fault) -> bool:
    """Whether the supposed value moves the first right tensor behind the fault away from right.

    Then nothing is wrong in this place, and the graph computes in another order: it may scale one
    factor where the reference scales the product. To correct a fault moves what follows it toward
    the reference, up to what chance makes of noise: of n errors of one size, the sum of their
    squares grows by more than z² of them with the probability of a deviation of z.
    """
    ref, cand = matcher.reference, matcher.candidate
    below = cand.topology.below([fault.tensor])
    for node in cand.graph.nodes:
        for name in below.intersection(node.outputs).intersection(cand.values):
            size = cand.prints[name].elements
            equal = [
                other
                for other in ref.values
                if ref.prints[other].elements == size and _equal_within_noise(matcher, other, name)
            ]
            if equal:
                found = cand.fetched(name, {fault.tensor: fault.value})
                before, other = min((_rms(ref.values[e], cand.values[name]), e) for e in equal)
                noise = math.hypot(ref.spread[other], cand.spread[name])
                share = max(1.0, threshold(size) ** 2 / size)
                return _rms(ref.values[other], found) > math.hypot(before, math.sqrt(share) * noise)
    return False


def _rms(left: Array, right: Array) -> float:
    """The rms of the difference in the arrangement in which it is least."""
    return min(
        (rms_and_peak(moved.array(left), right)[0] for moved in rearrangements(left, right.shape)),
        default=math.inf,
    )


def _equal_within_noise(
    matcher: ValueMatcher, ref: str, cand: str, noise: float | None = None
) -> bool:
    """Whether two tensors are equal up to the rms of their noise, in any arrangement.

    ``noise`` is that of the candidate's tensor, where it is not the one of the search.
    """
    left, right = matcher.reference.values[ref], matcher.candidate.values[cand]
    bound = matcher.tolerance(ref, cand)
    if noise is not None:
        bound += threshold(right.size) * noise
    return _rms(left, right) <= bound


def _lost_on_its_grids(matcher: ValueMatcher, fault: Fault) -> bool:
    """Whether the tensor is right without any quantizer, as in the draws.

    A quantization range was fitted to unknown samples: on others it clips values, or is coarser
    than necessary. This is a loss, which the outputs measure; a fault remains without quantizers.
    """
    return not _beyond(matcher, fault, grids=False)


def _beyond(matcher: ValueMatcher, fault: Fault, *, grids: bool) -> bool:
    """Whether the tensor exceeds the noise of many draws, with its quantizers or without.

    An earlier loss may move all elements of a small tensor together: then the few draws of the
    search are few samples, not one for each element.
    """
    wrong = matcher.candidate.values[fault.tensor]
    if wrong.shape != fault.value.shape:
        return True
    drawn = matcher.candidate.drawn(fault.tensor, MANY_DRAWS)
    noise = math.hypot(drawn.rms, matcher.reference.spread[fault.counterpart])
    if noise == 0.0:
        # Draws do not move what is computed among constants; it is held in its declared type.
        dtype = matcher.candidate.graph.declared_dtype(fault.tensor)
        noise = unit_roundoff(dtype) * rms_and_peak(wrong, np.zeros_like(wrong))[0]
    found = wrong if grids else drawn.center
    kept = _not_cut_off(fault.value, found)
    return (
        rms_and_peak(fault.value[kept], found[kept])[0] > student(wrong.size, drawn.freedom) * noise
    )


def _not_cut_off(right: Array, found: Array) -> Array:
    """Mark all elements but clipped ones, if chance explains how many are clipped."""
    low, high = np.min(found, initial=np.inf), np.max(found, initial=-np.inf)
    cut = ((right < low) & (found == low)) | ((right > high) & (found == high))
    excused = beyond_another(int(np.count_nonzero(cut)), right.size) >= FALSE_ALARM
    return np.asarray(~cut if excused else np.ones(right.shape, bool))


def _as_divergent(comparison: Comparison, located: Located, faults: Sequence[Fault]) -> Comparison:
    reason = message("DIVERGENT.node_beyond_loss", node=faults[0].node)
    names = [each.tensor for each in faults]
    reached = located.matcher.candidate.topology.below(names) | set(names)
    return _judged(
        comparison,
        lambda each: each.verdict is Verdict.DEGRADED and each.candidate_output in reached,
        Verdict.DIVERGENT,
        reason,
    )


def _as_degraded(comparison: Comparison) -> Comparison:
    return _judged(
        comparison,
        lambda each: each.verdict is Verdict.DIVERGENT,
        Verdict.DEGRADED,
        message("DEGRADED.few_draws"),
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
