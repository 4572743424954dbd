"""The three errors at one pair of outputs, and the verdict that follows from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.divergence import Divergence, ErrorTerm, Judgment, Verdict
from isomorph.core.messages import message
from isomorph.measure.budget_check import as_stored, judge, judge_stated_budget
from isomorph.measure.distance import float_info, is_inexact, widen
from isomorph.measure.reached_values import values_meet
from isomorph.measure.spread import Spread, merged, of_float64

if TYPE_CHECKING:
    from isomorph.core.trace import Array

ROUNDING = "Monte-Carlo spread of float64 runs disturbed by the rounding of the declared types"
ALLOWANCE = "spread of float64 runs whose unmatched constants are re-rounded once"
INTENDED = "spread of float64 runs with ideal quantizers and weights of the declared widths"
OWN_ROUNDING = "rounding of the float64 runs themselves, a lower bound of the allowance"
SAME = message("EQUIVALENT.same")
_DIFFERENT = message("DIVERGENT.graphs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What is known of one output of one model; None where it could not be computed.

    ``execution`` is how far the run may be from the oracle: the rounding, and for a quantized model
    a step of its quantizers, which rounding can cause. ``recorded`` values have no model, and so no
    oracle and no rounding of their own. ``agreed`` is the oracle's value if decisions that rounding
    leaves open are taken as on the other side.
    """

    name: str
    run: Array | None
    oracle: Array | None
    rounding: Spread | None
    execution: Spread | None
    recorded: bool = False
    unoptimized_outputs: Callable[[], Array | None] = lambda: None
    agreed: Array | None = None

    @property
    def compared(self) -> Array | None:
        """The oracle's value that is compared with the other side's."""
        return self.oracle if self.agreed is None else self.agreed

    @property
    def shown(self) -> Array | None:
        """The oracle's value in the range of the output's own type: overflow is infinite."""
        if self.compared is None or self.run is None:
            return self.compared
        return as_stored(self.compared, self.run, str(self.run.dtype), self.rounding)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """How a pair is judged."""

    dtype: str
    false_alarm: float
    lossy: bool = False
    run_dtype: str = ""
    """The narrower float type that the candidate's run was set to; what it loses is declared."""
    run_quantizes: bool = False
    """Whether the candidate's run quantizes activations that the reference's keeps in float, where
    no graph shows it; what that loses is declared, and equal graphs have the same oracle."""
    quantized: bool = False
    """Whether either graph quantizes between its inputs and its outputs."""
    budget: float | None = None
    allowance: Callable[[], Spread | None] | None = lambda: None
    """How far re-rounded constants move the pair; None where they are not to be disturbed, and the
    oracles are compared by their own rounding."""
    intended: Callable[[], Spread | None] = lambda: None
    held: Callable[[], Sequence[Spread]] = lambda: ()
    """How far rounding moves the pair while decisions stay as they are, or while ties of one side
    do: each has to explain a difference that jumps explain. Empty where that is not known."""


def decide(reference: Evidence, candidate: Evidence, question: Question) -> Divergence:
    """Judge one pair of outputs of equal shape."""
    errors = _Errors(reference, candidate, question)
    verdict, reason = _decide(errors, question)
    shown = candidate.run if candidate.run is not None else candidate.oracle
    return Divergence(
        reference_output=reference.name,
        candidate_output=candidate.name,
        dtype=question.dtype,
        shape=tuple(shown.shape) if shown is not None else (),
        verdict=verdict,
        reason=reason,
        observed=errors.observed,
        translation=errors.translation,
        rounding=errors.rounding,
        intended_loss=errors.intended,
        execution_reference=errors.execution_reference,
        execution_candidate=errors.execution_candidate,
    )


def graphs_differ(divergence: Divergence) -> bool:
    """Whether a pair is divergent because of its graphs, and not because of one run alone.

    A run may overflow in float32 on an input on which both graphs compute the same numbers.
    """
    same = _within(divergence.rounding) or _within(divergence.translation)
    return divergence.verdict is Verdict.DIVERGENT and not same


def graphs_measured_to_differ(divergence: Divergence) -> bool:
    """Whether float64 evaluations of both graphs were seen to differ by more than rounding.

    Unlike ``graphs_differ`` it needs that measurement: a pair whose oracles could not be compared
    is divergent by its runs alone. A declared loss is such a difference, too.
    """
    judged = divergence.verdict in {Verdict.DIVERGENT, Verdict.DEGRADED}
    measured = divergence.rounding is not None and divergence.rounding.beyond
    return judged and measured and not _within(divergence.translation)


class _Errors:
    """The error terms of one pair, each measured once."""

    def __init__(self, reference: Evidence, candidate: Evidence, question: Question) -> None:
        self.reference, self.candidate, self.question = reference, candidate, question
        self.recorded = reference.recorded
        both = self._of_both(reference.rounding, candidate.rounding)
        # Without quantizers a run may be as far from its oracle as rounding moves it.
        rounds_only = all(side.execution is side.rounding for side in (reference, candidate))
        either = both if rounds_only else self._of_both(reference.execution, candidate.execution)
        self.budget = both
        self.translation: ErrorTerm | None = None
        # Between the sides the wider type counts: an overflow of the narrower one is a difference.
        self._wider = wider = _wider(_stored_type(reference.run, question.dtype), question.dtype)
        self.observed = self.part(candidate.run, reference.run, either, ROUNDING, dtype=wider)
        self._observed_by_rounding = either is both and wider == question.dtype
        self.rounding = self.part(
            candidate.shown, reference.shown, both, ROUNDING, dtype=wider, flushed=False
        )
        self.execution_reference = self.part(
            reference.run,
            reference.oracle,
            reference.execution,
            ROUNDING,
            dtype=_stored_type(reference.run, question.dtype),
        )
        self.execution_candidate = self.part(
            candidate.run, candidate.oracle, candidate.execution, ROUNDING
        )
        self.intended: ErrorTerm | None = None
        if question.lossy:
            loss = merged(candidate.rounding, question.intended())
            self.intended = self.part(candidate.shown, reference.shown, loss, INTENDED, dtype=wider)

    def _of_both(self, ref: Spread | None, cand: Spread | None) -> Spread | None:
        # A candidate of lower precision may have any noise: whether it is still the *same* is
        # judged by the reference's rounding alone.
        if self.question.lossy:
            return ref
        # The recorded run rounded too: as much as the candidate, in the absence of better facts.
        return merged(cand, cand) if self.recorded else merged(ref, cand)

    def near(self) -> ErrorTerm | None:
        """Compare the runs by rounding alone: a quantizer's step is no excuse."""
        if self._observed_by_rounding:
            return self.observed
        return self.part(self.candidate.run, self.reference.run, self.budget, ROUNDING)

    def in_wider_type(self) -> ErrorTerm | None:
        """Compare the runs by rounding alone, in the wider of their types."""
        run, other = self.candidate.run, self.reference.run
        return self.part(run, other, self.budget, ROUNDING, dtype=self._wider)

    def measure_translation(self, *, jumps: bool = True) -> None:
        """Compare the oracles by what their own rounding and re-rounded constants explain.

        Constants are disturbed, which costs further oracle passes, only where the rounding of
        float64 alone does not explain the difference. Without ``jumps`` the values that draws
        reached explain nothing.
        """
        own = of_float64(self.budget)
        if own is not None:
            alone = self._between_oracles(replace(own, lower_bound=True), OWN_ROUNDING)
            if alone is not None and alone.within:
                # It counts as no draws, and more are not asked for: they would only refine a bound
                # that is a billionth of the rounding that decides.
                self.translation = replace(alone, budget=replace(alone.budget, draws=0))
                return
            if self.question.allowance is None:
                only = self._between_oracles(own, OWN_ROUNDING)
                if only is not None:
                    only = replace(only, budget=replace(only.budget, float64_rounding=True))
                self.translation = only
                return
        spread = self.question.allowance() if self.question.allowance is not None else None
        if spread is not None and spread.deviation is None and self.budget is not None:
            # For integers float64 does not decide a tie that rounding leaves open.
            spread = merged(spread, self.budget)
        elif spread is not None and own is not None:
            spread = merged(spread, own)
        if spread is not None and not jumps:
            spread = replace(spread, reached=())
        self.translation = self._between_oracles(spread, ALLOWANCE)

    def _between_oracles(self, spread: Spread | None, derivation: str) -> ErrorTerm | None:
        cand, ref = self.candidate.compared, self.reference.compared
        return self.part(cand, ref, spread, derivation, stored=False)

    def differ_without_jumps(self) -> bool:
        """Whether only jumps explain the difference that no decision makes; kept if so."""
        if self.budget is None or not self.budget.reached:
            return False
        self.measure_translation(jumps=False)
        if _within(self.translation):
            return False
        for held in self.question.held():
            apart = self.part(self.candidate.run, self.reference.run, held, ROUNDING)
            rounding = self.part(
                self.candidate.shown, self.reference.shown, held, ROUNDING, flushed=False
            )
            if not (_within(apart) or _within(rounding)):
                self.rounding, self.observed = rounding, apart
                return True
        self.translation = None
        return False

    def allowance_exceeds_values(self) -> bool:
        """Whether the allowance is larger than the values, so that it cannot judge them."""
        cand, ref = self.candidate.compared, self.reference.compared
        if self.translation is None or cand is None or ref is None:
            return False
        allowed = self.translation.budget.allowed_max
        with np.errstate(all="ignore"):
            sizes = [np.abs(widen(each[np.isfinite(each)])) for each in (cand, ref)]
        largest = max((float(np.max(each, initial=0.0)) for each in sizes), default=0.0)
        return bool(allowed is not None and is_inexact(cand) and allowed >= largest > 0.0)

    def part(
        self,
        actual: Array | None,
        expected: Array | None,
        spread: Spread | None,
        derivation: str,
        *,
        stored: bool = True,
        flushed: bool = True,
        dtype: str | None = None,
    ) -> ErrorTerm | None:
        """Judge one error by one spread; None where either side is missing."""
        if actual is None or expected is None:
            return None
        return judge(
            actual,
            expected,
            spread,
            dtype=dtype or self.question.dtype,
            derivation=derivation,
            stored=stored,
            flushed=flushed,
            false_alarm=self.question.false_alarm,
        )


def _decide(errors: _Errors, question: Question) -> tuple[Verdict, str]:
    if question.budget is not None:
        return _by_stated_budget(errors, question.budget)
    if errors.recorded:
        return _against_recording(errors)
    if errors.observed is None or errors.rounding is None:
        return Verdict.UNKNOWN, message("UNKNOWN.nothing_to_judge")
    if Judgment.UNKNOWN in {errors.observed.budget.within, errors.rounding.budget.within}:
        return Verdict.UNKNOWN, message("UNKNOWN.no_budget")
    if question.lossy:
        return _decide_lossy(errors)
    # A quantizer's step is no excuse here: equal graphs quantize equally.
    alike = _alike(errors)
    if _within(errors.rounding) or (alike and _consistent(errors)):
        return _decide_near(errors)
    # Re-rounded constants may explain a difference of any size. Not before a quantizer: there one
    # rounding can move a whole quantization range, which is to be found.
    if not question.quantized:
        errors.measure_translation()
        if _within(errors.translation):
            if errors.allowance_exceeds_values():
                return Verdict.UNKNOWN, message("UNKNOWN.constants_dominate")
            return _decide_same_meaning(errors)
    if not alike:
        return Verdict.DIVERGENT, _DIFFERENT
    return _decide_hidden(errors)


def _by_stated_budget(errors: _Errors, budget: float) -> tuple[Verdict, str]:
    run, other = errors.candidate.run, errors.reference.run
    if run is None or other is None:
        return Verdict.UNKNOWN, message("UNKNOWN.run_missing")
    errors.observed = judge_stated_budget(run, other, budget, dtype=errors.question.dtype)
    if _within(errors.observed):
        return Verdict.EQUIVALENT, message("EQUIVALENT.stated_budget", budget=budget)
    return Verdict.DIVERGENT, message("DIVERGENT.stated_budget", budget=budget)


def _against_recording(errors: _Errors) -> tuple[Verdict, str]:
    if errors.observed is None or errors.observed.budget.within is Judgment.UNKNOWN:
        return Verdict.UNKNOWN, message("UNKNOWN.recording")
    if _within(errors.observed):
        return Verdict.EQUIVALENT, message("EQUIVALENT.recording")
    if errors.execution_candidate is not None and not _within(errors.execution_candidate):
        return Verdict.DIVERGENT, message("DIVERGENT.run_off")
    return Verdict.DIVERGENT, message("DIVERGENT.recording")


def _decide_lossy(errors: _Errors) -> tuple[Verdict, str]:
    if errors.intended is None or errors.intended.budget.within is Judgment.UNKNOWN:
        return Verdict.UNKNOWN, message("UNKNOWN.no_loss_budget")
    if _within(errors.rounding) and _within(errors.near()):
        return Verdict.EQUIVALENT, message("EQUIVALENT.lower_precision")
    if not _within(errors.intended):
        return Verdict.DIVERGENT, message("DIVERGENT.beyond_loss")
    if not _within(errors.execution_candidate):
        if errors.execution_candidate is None:
            return Verdict.UNKNOWN, message("UNKNOWN.run_missing")
        return Verdict.DIVERGENT, message("DIVERGENT.run_off_lossy")
    return Verdict.DEGRADED, message("DEGRADED.expected_loss")


def _decide_near(errors: _Errors) -> tuple[Verdict, str]:
    if errors.observed is not None and errors.observed.budget.blind:
        return Verdict.UNKNOWN, message("UNKNOWN.rounding_dominates")
    if errors.differ_without_jumps():
        return Verdict.DIVERGENT, _DIFFERENT
    return _decide_same_meaning(errors)


def _decide_same_meaning(errors: _Errors) -> tuple[Verdict, str]:
    if errors.translation is None:
        errors.measure_translation()
    # The loss of a run that was set to a narrower type, or that quantizes activations, is declared,
    # and the run still another one.
    dtype, quantizes = errors.question.run_dtype, errors.question.run_quantizes
    if _within(errors.in_wider_type() if dtype or quantizes else errors.observed):
        return Verdict.EQUIVALENT, SAME
    if not _within(errors.execution_candidate):
        explained = "rounding"
        if dtype or quantizes:
            explained = dtype or "the quantization of activations"
        return Verdict.DIVERGENT, message("DIVERGENT.candidate_run", explained=explained)
    if not _within(errors.execution_reference):
        return Verdict.UNKNOWN, message("UNKNOWN.reference_off")
    if dtype:
        return Verdict.DEGRADED, message("DEGRADED.run_type", dtype=dtype)
    if quantizes:
        return Verdict.DEGRADED, message("DEGRADED.run_quantizes")
    return Verdict.EQUIVALENT, message("EQUIVALENT.each_rounds")


def _decide_hidden(errors: _Errors) -> tuple[Verdict, str]:
    """Decide where the runs agree and the oracles do not: an optimizer hides it, or an error."""
    written = errors.candidate.unoptimized_outputs()
    if written is not None and errors.candidate.oracle is not None:
        literal = errors.part(written, errors.candidate.oracle, errors.candidate.rounding, ROUNDING)
        if _within(literal):
            return Verdict.DIVERGENT, message("DIVERGENT.optimizer")
    return Verdict.UNKNOWN, message("UNKNOWN.oracle")


def _stored_type(run: Array | None, otherwise: str) -> str:
    return otherwise if run is None or run.dtype.kind in "OUS" else str(run.dtype)


def _wider(left: str, right: str) -> str:
    return left if float(float_info(left).max) > float(float_info(right).max) else right


def _alike(errors: _Errors) -> bool:
    """Whether the runs agree by rounding alone, and jumps lead both sides to common values."""
    near = errors.near()
    sides = [
        (each.run, each.compared, each.rounding) for each in (errors.reference, errors.candidate)
    ]
    return near is not None and near.within and values_meet(sides, near.budget.allowed_max)


def _consistent(errors: _Errors) -> bool:
    return _within(errors.execution_reference) and _within(errors.execution_candidate)


def _within(part: ErrorTerm | None) -> bool:
    return part is not None and part.within
