"""Compare two models on one sample: pair their outputs and judge each pair."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from isomorph.core.divergence import Divergence, Verdict
from isomorph.core.errors import IsomorphError
from isomorph.core.report import Binding
from isomorph.core.stated_numbers import FIRST_DRAWS, FURTHER_DRAWS, MANY_DRAWS
from isomorph.match.binding import PATH
from isomorph.measure.absent_outputs import absent, misshapen, shape_of
from isomorph.measure.comparand import Comparand
from isomorph.measure.draws_needed import (
    allowance_settled,
    beyond_doubt,
    doubtful,
    may_settle,
    out_of_reach,
    settled_but_for_loss,
    settled_but_for_translation,
    values_in_doubt,
    widened_by_few_draws,
)
from isomorph.measure.equal_decisions import held_spreads
from isomorph.measure.evaluated_model import EvaluatedModel
from isomorph.measure.integer_outputs import judged_as_integers
from isomorph.measure.output_layout import (
    Arrangeable,
    rearranged_evidence,
    rearrangement,
)
from isomorph.measure.output_order import element_pairs, nearest, unordered
from isomorph.measure.pair_evidence import (
    agreed,
    allowance_between,
    dtype_of,
    evidence_of,
    intended_between,
    moved_spread,
    narrower_run_dtype,
)
from isomorph.measure.parallel import evaluate_all, evaluate_tails
from isomorph.measure.precision import jumps, lower_precision, quantized
from isomorph.measure.run_time_quantizers import added_run_time_quantizers
from isomorph.measure.shared_draws import share_draws
from isomorph.measure.tail_record import TailRecord
from isomorph.measure.underflow import Underflow, explained, underflow
from isomorph.measure.verdict import Question, decide, graphs_differ

if TYPE_CHECKING:
    from isomorph.match.axis_layout import Rearrangement
    from isomorph.measure.evaluated_tail import EvaluatedTail


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The user's settings for the judgment."""

    false_alarm: float
    budgets: Mapping[str, float]
    arrangeable: Arrangeable = field(default_factory=Arrangeable)
    allowance: bool = True
    """Whether constants are disturbed, to measure what re-rounding them explains."""
    same_weights: bool = False
    """Whether the candidate is compared with the reference's weights as well, which tells a loss by
    rounded weights from any other difference: the size of that loss then decides nothing."""
    decided: frozenset[tuple[str | None, str | None]] = frozenset()
    """Pairs of outputs that differ on another sample. Of these only the first draws are made; their
    threshold keeps the stated probability of a false alarm, as that of many draws does."""
    search: bool = False
    """Whether the faulty node is searched for where an output differs."""
    by_weight: Callable[[], bool] | None = field(default=None, compare=False)
    """Whether one wrong weight is proven to be all that makes the outputs differ; asked where the
    noise of the tails does not explain a difference, before any noise of the whole is drawn."""
    tails: TailRecord = field(default_factory=TailRecord, compare=False)
    """What the tails of both graphs could not explain so far."""

    def budget(self, *names: str) -> float | None:
        """Return the budget for one of these names, for the output that contains it, or for all."""
        for name in names:
            holder = PATH.sub("", name)
            for known in (name, holder):
                if known and known in self.budgets:
                    return self.budgets[known]
        return self.budgets.get("")


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The judged pairs of one sample; ``order`` is another binding that would have agreed.

    ``bindings`` are those that were judged: where the outputs of a model are a dict, which has no
    order, they are chosen by shape and value.
    """

    divergences: tuple[Divergence, ...]
    rearranged: Mapping[str, Rearrangement]
    bindings: tuple[Binding, ...] = ()
    order: tuple[Binding, ...] | None = None
    preliminary: bool = False
    """Whether an output differs by the first draws of its rounding alone, without re-rounded
    constants: a faulty node that proves it is searched for first (``Terms.search``)."""
    by_weight: bool = False
    """Whether an output is divergent because of a wrong weight (``Terms.by_weight``)."""
    underflow: Underflow | None = None
    """Constants that the candidate's type cannot represent, where they explain an output."""

    def as_stored(self, reference: EvaluatedModel) -> EvaluatedModel:
        """Return the reference with constants as the candidate stores them, if that matters."""
        return reference if self.underflow is None else self.underflow.reference


def compare(
    reference: Comparand, candidate: Comparand, bindings: Sequence[Binding], terms: Terms
) -> Comparison:
    """Judge every bound pair; where the bound order fails, try the order of closest values."""
    judged = _with_underflow(
        reference, candidate, _compare(reference, candidate, bindings, terms), terms
    )
    wrong = [d for d in judged.divergences if d.verdict is Verdict.DIVERGENT]
    free = unordered(reference.model, candidate.model)
    swapped = _nearest(reference, candidate, bindings, free=free) if wrong else None
    if swapped is None:
        return judged
    other = _compare(reference, candidate, swapped, replace(terms, by_weight=None))
    fits = all(d.verdict in {Verdict.EQUIVALENT, Verdict.DEGRADED} for d in other.divergences)
    # Outputs without an order of their own are judged in the order of closest values.
    if free:
        return other
    return replace(judged, order=swapped) if fits else judged


def _with_underflow(
    reference: Comparand, candidate: Comparand, judged: Comparison, terms: Terms
) -> Comparison:
    """Judge losses again that constants too small for the candidate's type may explain."""
    wrong = [each for each in judged.divergences if each.verdict is Verdict.DIVERGENT]
    if not any(each.intended_loss is not None for each in wrong):
        return judged
    found = underflow(reference, candidate)
    if found is None or not isinstance(reference, EvaluatedModel):
        return judged
    other = _compare(found.reference, candidate, judged.bindings, terms)
    divergences, underflows = explained(found, judged.divergences, other.divergences, reference)
    return replace(judged, divergences=divergences, underflow=underflows)


def _nearest(
    reference: Comparand, candidate: Comparand, bindings: Sequence[Binding], *, free: bool
) -> tuple[Binding, ...] | None:
    """Return the bindings in the order of closest values; None where that is the bound order."""
    left, right = reference.runtime_outputs(), candidate.runtime_outputs()
    if isinstance(left, IsomorphError) or isinstance(right, IsomorphError):
        return None
    bound = {pair.candidate for pair in bindings}
    spare = [spec.name for spec in candidate.model.graph.outputs if spec.name not in bound]
    found = nearest(bindings, left, right, spare if free else ())
    return None if found == tuple(bindings) else found


def _compare(
    reference: Comparand, candidate: Comparand, bindings: Sequence[Binding], terms: Terms
) -> Comparison:
    divergences, rearranged, preliminary, by_weight = [], {}, False, False
    for pair in bindings:
        for left, right in element_pairs(reference, candidate, pair):
            judged = _settled_by_tails(reference, candidate, left, right, terms)
            # Tails call nothing wrong but what a weight proves.
            by_weight |= judged is not None and judged[0].verdict is Verdict.DIVERGENT
            if judged is None and terms.search:
                judged = _differs_by_first_draws(reference, candidate, left, right, terms)
                preliminary = preliminary or judged is not None
            if judged is None:
                judged = _judge_pair(reference, candidate, left, right, terms)
            divergence, moved = judged
            divergences.append(divergence)
            if moved is not None:
                rearranged[right] = moved
    return Comparison(
        divergences=tuple(divergences),
        rearranged=rearranged,
        bindings=tuple(bindings),
        preliminary=preliminary,
        by_weight=by_weight,
    )


def _judge_pair(
    reference: Comparand, candidate: Comparand, left: str, right: str, terms: Terms
) -> tuple[Divergence, Rearrangement | None]:
    """Judge by a few draws if they leave no doubt, else by many, and in doubt by wider ones."""
    sides = reference, candidate
    judged = _judge_once(reference, candidate, left, right, terms)
    smooth = not any(jumps(side.model.graph) for side in sides)
    settled = smooth and (left, right) in terms.decided
    if settled or beyond_doubt(judged[0], terms.false_alarm, smooth=smooth):
        return judged
    if terms.same_weights and settled_but_for_loss(judged[0], terms.false_alarm):
        return judged
    # In the end the allowance has as many draws as the rounding, if it is in doubt only then.
    for draws in (*FURTHER_DRAWS, FURTHER_DRAWS[-1]):
        constants = not allowance_settled(judged[0], terms.false_alarm, smooth=smooth)
        more = [side.draw_more(draws, allowance=constants) for side in sides]
        if any(more):
            judged = _judge_once(reference, candidate, left, right, terms)
        if beyond_doubt(judged[0], terms.false_alarm, smooth=smooth):
            return judged
    accepted = judged[0].verdict in {Verdict.EQUIVALENT, Verdict.DEGRADED}
    sharper = [False]
    if accepted and widened_by_few_draws(judged[0], terms.false_alarm):
        sharper = [side.draw_more(MANY_DRAWS) for side in sides]
    elif doubtful(judged[0], terms.false_alarm):
        # Normalization enlarges what a few draws do to a token and others hardly touch: then ten
        # of them show half of the loss that a width intends.
        sharper = [candidate.draw_more(MANY_DRAWS)]
    elif values_in_doubt(judged[0]) or not (accepted or smooth):
        sharper = [side.draw_wider() for side in sides]
    return _judge_once(reference, candidate, left, right, terms) if any(sharper) else judged


def _differs_by_first_draws(
    reference: Comparand, candidate: Comparand, left: str, right: str, terms: Terms
) -> tuple[Divergence, Rearrangement | None] | None:
    """Judge by the first draws of rounding; None where they do not show different functions."""
    graphs = reference.model.graph, candidate.model.graph
    stated = terms.budget(left, right) is not None or not terms.allowance
    if (
        stated
        or lower_precision(*graphs)
        or any(jumps(graph) or quantized(graph) for graph in graphs)
    ):
        return None
    judged = _judge_once(reference, candidate, left, right, terms, by_own_rounding=True)
    differ = judged[0].rounding is not None and graphs_differ(judged[0])
    return judged if differ else None


def _settled_by_tails(
    reference: Comparand, candidate: Comparand, left: str, right: str, terms: Terms
) -> tuple[Divergence, Rearrangement | None] | None:
    """Judge by noise in the tails of both graphs; None where that leaves a doubt."""
    if not (isinstance(reference, EvaluatedModel) and isinstance(candidate, EvaluatedModel)):
        return None
    tails = evaluate_tails(reference, candidate)
    if tails is None or terms.tails.needless(tails):
        return None
    if terms.allowance:
        # What the rounding of the tails does not explain is left to the whole graphs.
        verdict = _verdict_by_rounding(tails, left, right, terms)
        if verdict is Verdict.DIVERGENT:
            proven = _proven_by_weight(tails, left, right, terms)
            if proven is not None:
                return proven
            if terms.search:
                share_draws(reference, candidate)
        if verdict is not Verdict.EQUIVALENT:
            return None
    return _within_tails(tails, left, right, terms)


def _within_tails(
    tails: tuple[EvaluatedTail, EvaluatedTail], left: str, right: str, terms: Terms
) -> tuple[Divergence, Rearrangement | None] | None:
    """Judge a pair by as many draws as leave no doubt; None where it is not within or one stays."""
    while True:
        judged = _judge_once(*tails, left, right, terms)
        within = judged[0].verdict is Verdict.EQUIVALENT
        if within and beyond_doubt(judged[0], terms.false_alarm, smooth=True):
            return judged
        more = _look_closer(tails, judged[0], terms) if within else any(_draw_first(tails))
        if not more:
            if within and out_of_reach(judged[0], terms.false_alarm):
                terms.tails.note_beyond()
            return None


def _verdict_by_rounding(
    tails: tuple[EvaluatedTail, EvaluatedTail], left: str, right: str, terms: Terms
) -> Verdict:
    """Return the verdict without an allowance; the first draws decide what fewer do not settle."""
    quick = replace(terms, allowance=False)
    verdict = _judge_once(*tails, left, right, quick)[0].verdict
    if verdict is not Verdict.EQUIVALENT and any(_draw_first(tails)):
        verdict = _judge_once(*tails, left, right, quick)[0].verdict
    return verdict


def _draw_first(tails: Sequence[EvaluatedTail]) -> list[bool]:
    return [tail.draw_more(FIRST_DRAWS) for tail in tails]


def _proven_by_weight(
    tails: Sequence[EvaluatedTail], left: str, right: str, terms: Terms
) -> tuple[Divergence, Rearrangement | None] | None:
    """Judge a pair whose graphs differ by one wrong weight; None where nothing proves that.

    Both runs must be within the rounding of the tails: nothing but the graphs is wrong then.
    """
    if terms.by_weight is None or terms.budget(left, right) is not None:
        return None
    reference, candidate = tails
    judged = _judge_once(reference, candidate, left, right, terms, by_own_rounding=True)
    runs = judged[0].execution_reference, judged[0].execution_candidate
    right_runs = all(run is not None and run.within for run in runs)
    return judged if right_runs and graphs_differ(judged[0]) and terms.by_weight() else None


def _look_closer(tails: Sequence[EvaluatedTail], judged: Divergence, terms: Terms) -> bool:
    """Draw more in the tails, or the whole graph for the allowance; False where that was done."""
    if not settled_but_for_translation(judged, terms.false_alarm):
        first = [tail.draw_more(FIRST_DRAWS) for tail in tails]
        if any(first):
            return True
        # The noise of the whole may be there for another output.
        whole = not any(tail.whole.pending() for tail in tails)
        if whole or not may_settle(judged, FURTHER_DRAWS[-1], terms.false_alarm):
            return False
        more = [tail.draw_further() for tail in tails]
    else:
        within = judged.translation is not None and judged.translation.within
        more = [tail.widen_allowance(within=within) for tail in tails]
    return any(more)


def _judge_once(
    reference: Comparand,
    candidate: Comparand,
    left: str,
    right: str,
    terms: Terms,
    *,
    by_own_rounding: bool = False,
) -> tuple[Divergence, Rearrangement | None]:
    """Judge a pair; ``by_own_rounding``: the oracles by the rounding of float64 alone."""
    evaluate_all(reference, candidate)
    ref, cand = evidence_of(reference, left), evidence_of(candidate, right)
    moved = None
    shapes = shape_of(ref), shape_of(cand)
    if shapes[0] is None or shapes[1] is None:
        failed = any(
            isinstance(each.runtime_outputs(), IsomorphError) for each in (reference, candidate)
        )
        return absent(left, right, ref, cand, failed=failed), None
    if shapes[0] != shapes[1] or right in terms.arrangeable.stated:
        moved = rearrangement(ref, cand, terms.arrangeable, terms.false_alarm)
        if moved is None:
            return misshapen(left, right, shapes[0], shapes[1]), None
        cand = rearranged_evidence(moved, cand)
    else:
        ref, cand = agreed(reference, candidate, ref, cand)
    question = Question(
        dtype=dtype_of(ref, cand),
        false_alarm=terms.false_alarm,
        lossy=bool(lower_precision(reference.model.graph, candidate.model.graph)),
        run_dtype=narrower_run_dtype(reference, candidate),
        run_quantizes=bool(added_run_time_quantizers(reference.model.graph, candidate.model.graph)),
        quantized=quantized(reference.model.graph) or quantized(candidate.model.graph),
        budget=terms.budget(left, right),
        allowance=None
        if by_own_rounding
        else lambda: (
            allowance_between(reference, candidate, left, right, moved) if terms.allowance else None
        ),
        intended=lambda: intended_between(reference, candidate, left, right, moved),
        held=lambda: held_spreads(
            reference, candidate, (left, right), lambda e: moved_spread(e, moved)
        ),
    )
    judged = decide(ref, cand, question)
    if question.budget is None:
        judged = judged_as_integers(judged, ref.run, cand.run, ref.rounding)
    return judged, moved
