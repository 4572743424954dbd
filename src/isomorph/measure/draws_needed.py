"""Whether more draws of noise could change the verdict on a pair of outputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from isomorph.core.chance import largest_deficit
from isomorph.core.divergence import Divergence, ErrorTerm, Verdict
from isomorph.core.stated_numbers import MISSED_FINDING, PROBABLY_NOT
from isomorph.measure.spread import comfortable, hopeless, threshold


def beyond_doubt(divergence: Divergence, false_alarm: float, *, smooth: bool = False) -> bool:
    """Whether more draws could not change the verdict.

    In a graph that is not ``smooth`` noise rarely does much, and few draws may not have shown it.
    """
    parts = [part for part in _parts(divergence) if part is not None]
    if divergence.verdict is Verdict.DEGRADED:
        parts = [p for p in (divergence.intended_loss, divergence.execution_candidate) if p]
    elif divergence.verdict is Verdict.DIVERGENT:
        return smooth and all(
            _comfortable(part, false_alarm) or _hopeless(part, false_alarm) for part in parts
        )
    elif divergence.verdict is not Verdict.EQUIVALENT:
        return False
    elif _explained_by_rounding(divergence, false_alarm):
        parts = [part for part in parts if part is not divergence.translation]
    return all(_comfortable(part, false_alarm) for part in parts)


def may_settle(divergence: Divergence, draws: int, false_alarm: float) -> bool:
    """Whether so many draws would probably leave no doubt, as far as those so far show.

    It decides what is drawn, and never a verdict. The allowance has draws of its own.
    """
    parts = _parts(replace(divergence, translation=None))
    return all(part is None or _promising(part, draws, false_alarm) for part in parts)


def out_of_reach(divergence: Divergence, false_alarm: float) -> bool:
    """Whether an error is so far beyond its budget that no draws would show it to be within."""
    parts = _parts(replace(divergence, translation=None))
    return any(part is not None and _hopeless(part, false_alarm) for part in parts)


def clearly_within(part: ErrorTerm, false_alarm: float) -> bool:
    """Whether an error is within its budget, and more draws could not change that."""
    return part.within and _comfortable(part, false_alarm)


def allowance_settled(divergence: Divergence, false_alarm: float, *, smooth: bool) -> bool:
    """Whether more draws of re-rounded constants could not change the verdict."""
    part = divergence.translation
    if part is None or _comfortable(part, false_alarm):
        return True
    if _explained_by_rounding(divergence, false_alarm):
        return True
    return smooth and divergence.verdict is Verdict.DIVERGENT and _hopeless(part, false_alarm)


def settled_but_for_translation(divergence: Divergence, false_alarm: float) -> bool:
    """Whether the outputs are equivalent beyond doubt, whatever the allowance is."""
    if divergence.verdict is not Verdict.EQUIVALENT:
        return False
    parts = _parts(replace(divergence, translation=None))
    return all(_comfortable(part, false_alarm) for part in parts if part is not None)


def lost_by_weights(divergence: Divergence) -> bool:
    """Whether an output is called wrong by nothing but the size of its loss."""
    run, loss = divergence.execution_candidate, divergence.intended_loss
    lost = loss is not None and not loss.within
    return divergence.verdict is Verdict.DIVERGENT and lost and run is not None and run.within


def settled_but_for_loss(divergence: Divergence, false_alarm: float) -> bool:
    """Whether there is a loss, and the run is right beyond doubt, however large that loss is."""
    lossy = divergence.verdict is Verdict.DEGRADED or lost_by_weights(divergence)
    run = divergence.execution_candidate
    return lossy and run is not None and clearly_within(run, false_alarm)


def _explained_by_rounding(divergence: Divergence, false_alarm: float) -> bool:
    """Whether the rounding explains a difference that is also within its allowance.

    Then the allowance decides on a finding, not on the verdict.
    """
    rounding, part = divergence.rounding, divergence.translation
    if part is None or rounding is None or divergence.verdict is not Verdict.EQUIVALENT:
        return False
    explained = rounding.within and _comfortable(rounding, false_alarm)
    return explained and _comfortable(part, false_alarm, mistake=MISSED_FINDING)


def values_in_doubt(divergence: Divergence) -> bool:
    """Whether a value that no draw reached decides: wider draws show if rounding reaches it."""
    parts = [part for part in _parts(divergence) if part is not None]
    return any(p.budget.uncovered > 0 or p.budget.ratio == math.inf for p in parts)


def widened_by_few_draws(divergence: Divergence, false_alarm: float) -> bool:
    """Whether an error is within its budget only because few draws widen the threshold."""
    for part in _parts(divergence):
        if part is None or not part.within or part.budget.freedom is None:
            continue
        limit = threshold(part.distance.elements, false_alarm)
        ratio, used = part.budget.ratio or 0.0, part.budget.threshold or limit
        if ratio * used > limit:
            return True
    return False


def doubtful(divergence: Divergence, false_alarm: float) -> bool:
    """Whether the loss exceeds the budget of few draws, but maybe not that of many."""
    run = divergence.execution_candidate
    return loss_in_doubt(divergence, false_alarm) and run is not None and run.within


def loss_in_doubt(divergence: Divergence, false_alarm: float) -> bool:
    """Whether the loss of the graph alone, without its run, is in doubt."""
    loss = divergence.intended_loss
    if divergence.verdict is not Verdict.DIVERGENT or loss is None or loss.within:
        return False
    ratio = loss.budget.ratio
    return ratio is not None and math.isfinite(ratio) and not _hopeless(loss, false_alarm)


def most_draws(divergences: Sequence[Divergence]) -> int:
    """Return the largest number of draws of any output."""
    parts = [
        part
        for each in divergences
        for part in (each.rounding, each.observed, each.intended_loss, each.execution_candidate)
    ]
    drawn = [part.budget.draws for part in parts if part is not None and part.budget.draws]
    return max(drawn, default=0)


def _parts(divergence: Divergence) -> tuple[ErrorTerm | None, ...]:
    return (
        divergence.translation, divergence.rounding, divergence.observed, divergence.intended_loss,
        divergence.execution_reference, divergence.execution_candidate,
    )  # fmt: skip


def _comfortable(part: ErrorTerm, false_alarm: float, mistake: float | None = None) -> bool:
    ratio, draws = part.budget.ratio, part.budget.draws
    if ratio is None or not draws:
        return True
    if part.budget.uncovered:
        return False
    freedom = math.inf if part.budget.freedom is None else part.budget.freedom
    elements = part.distance.elements
    return ratio <= comfortable(draws, elements, freedom, false_alarm, mistake=mistake)


def _promising(part: ErrorTerm, draws: int, false_alarm: float) -> bool:
    """Whether so many draws may show that an error is within its budget beyond doubt."""
    ratio, drawn = part.budget.ratio, part.budget.draws
    if ratio is None or not drawn or draws <= drawn:
        return _comfortable(part, false_alarm)
    freedom = math.inf if part.budget.freedom is None else part.budget.freedom
    share = comfortable(drawn, part.distance.elements, freedom, false_alarm)
    # In units of what many draws would allow: the threshold of few is wider.
    error = ratio / share * comfortable(drawn, 1, false_alarm=false_alarm)
    if math.isfinite(freedom):
        # Where it is largest, the deviation was probably underestimated.
        error /= math.sqrt(largest_deficit(freedom, 1, PROBABLY_NOT))
    return error <= comfortable(draws, 1, false_alarm=false_alarm)


def _hopeless(part: ErrorTerm, false_alarm: float) -> bool:
    ratio, draws = part.budget.ratio, part.budget.draws
    # Infinite is a misplaced NaN or integer: more draws show if noise causes it.
    if ratio is None or not draws:
        return False
    freedom = math.inf if part.budget.freedom is None else part.budget.freedom
    return hopeless(draws, part.distance.elements, freedom, false_alarm) <= ratio < math.inf
