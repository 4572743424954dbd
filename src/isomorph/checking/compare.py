"""The third phase of a check: the outputs of both models on one sample, compared.

A loss of precision is also judged by its nodes: a node that loses more than its own precision
explains is a fault, however much the model as a whole may lose.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from isomorph.checking.verdict import Claim, Outcome, claims_of
from isomorph.core.coverage import InputKind
from isomorph.core.divergence import Divergence, Verdict
from isomorph.core.errors import IsomorphError
from isomorph.core.messages import message
from isomorph.core.model import OutputOrder
from isomorph.core.not_done import not_done
from isomorph.core.stated_numbers import MANY_DRAWS
from isomorph.measure import findings as output_findings
from isomorph.measure.compare import Comparison, Terms, compare
from isomorph.measure.draws_needed import doubtful, lost_by_weights
from isomorph.measure.output_layout import Arrangeable
from isomorph.measure.spread import FALSE_ALARM

if TYPE_CHECKING:
    from isomorph.checking.config import CheckConfig
    from isomorph.checking.prepare import PreparedPair
    from isomorph.core.report import Binding
    from isomorph.localize.locate import Located
    from isomorph.localize.unrounded_weights import UnroundedCandidates
    from isomorph.measure.evaluated_model import EvaluatedModel

_OTHER_ORDER = message("DIVERGENT.output_order")


@dataclass(frozen=True, slots=True, kw_only=True)
class LossStudy:
    """A comparison whose loss of precision was followed to its nodes, or need not be.

    ``studied`` and ``hidden`` hold for the samples so far: whether a loss was followed, and the
    faults that were found in it.
    """

    comparison: Comparison | None = None
    studied: bool = False
    same_weights: bool = False
    """Whether the last sample was compared with the reference's weights in the candidate."""
    hidden: Located | None = None
    outcome: Outcome = field(default_factory=Outcome)


def comparison_terms(
    options: CheckConfig, *, channels: bool = False, layouts_of: Iterable[str] = ()
) -> Terms:
    """The budgets and the allowed axis orders; ``layouts_of`` are outputs with stated ones."""
    names = set(layouts_of)
    stated = {name: axes for name, axes in options.layouts.items() if name in names}
    return Terms(
        false_alarm=FALSE_ALARM,
        budgets=options.budgets,
        arrangeable=Arrangeable(anything=options.any_arrangement, channels=channels, stated=stated),
    )


def with_channels(terms: Terms, *, moved: bool) -> Terms:
    """The terms, with outputs whose channel axis may have moved as that of an input has."""
    if not moved:
        return terms
    return replace(terms, arrangeable=replace(terms.arrangeable, channels=True))


def declared_order(prepared: PreparedPair, orders: Collection[OutputOrder]) -> Outcome:
    """Outputs whose names show that they are in another order, without a run."""
    left = prepared.reference.model.graph.outputs
    right = prepared.candidate.model.graph.outputs
    swapped = output_findings.of_named_order(left, right, prepared.outputs)
    # The outputs of a SavedModel are a dict: callers use their names, and no order is lost.
    if swapped is None or {OutputOrder.UNORDERED, OutputOrder.NAMED}.intersection(orders):
        return Outcome()
    claim = Claim(verdict=Verdict.DIVERGENT, reason=_OTHER_ORDER)
    return Outcome(findings=(swapped,), claims=(claim,))


def comparison_outcome(
    comparison: Comparison, bindings: Sequence[Binding], *, compared_before: bool
) -> Outcome:
    """The divergences of one sample, and what they show about the order of the outputs."""
    findings, claims = [], []
    if comparison.order is not None:
        findings.append(output_findings.of_order(bindings, comparison.order))
        claims.append(Claim(verdict=Verdict.DIVERGENT, reason=_OTHER_ORDER))
    if compared_before and comparison.bindings != tuple(bindings):
        # Outputs without an order may be paired by value, but in the same way for every input.
        reason = message("UNKNOWN.pairing")
        claims.append(Claim(verdict=Verdict.UNKNOWN, reason=reason))
    findings += output_findings.of_rearranged(comparison.rearranged, comparison.divergences)
    return Outcome(
        findings=tuple(findings),
        divergences=comparison.divergences,
        claims=(*claims, *claims_of(comparison.divergences)),
    )


def compared_sample(
    sides: tuple[EvaluatedModel, EvaluatedModel],
    outputs: Sequence[Binding],
    terms: Terms,
    *,
    later: bool,
) -> Comparison:
    """Compare one sample; a ``later`` step of decoding first without re-rounded constants.

    They are asked about only where rounding does not explain everything: without them the same
    verdict needs half the draws, and a difference below rounding is a finding of the steps before.
    """
    if later:
        quick = compare(*sides, outputs, replace(terms, allowance=False))
        if all(each.verdict is Verdict.EQUIVALENT for each in quick.divergences):
            return quick
    return compare(*sides, outputs, terms)


def study_loss(
    sides: tuple[EvaluatedModel, EvaluatedModel],
    comparison: Comparison,
    terms: Terms,
    kind: InputKind,
    earlier: LossStudy,
    *,
    candidates: UnroundedCandidates,
    few_draws: bool = False,
) -> LossStudy:
    """Judge a loss of precision by its nodes, where the size of the loss does not decide.

    It is done once, and for each sample of a test set that is in doubt. ``few_draws``: the size of
    the loss was measured by few draws, because the same weights were to be compared.
    """
    reference, candidate = sides
    result = replace(earlier, comparison=comparison, outcome=Outcome(), same_weights=False)
    beyond = _divergent(comparison)
    from isomorph.localize.locate import locate
    from isomorph.localize.quantization_faults import judge_losses
    from isomorph.localize.unrounded_weights import compared_unrounded

    # A step of decoding is judged with the same weights by itself: it has caches of its own. So is
    # a loss that is called wrong for its size.
    again = (beyond or kind is InputKind.DECODED) and earlier.hidden is None
    if (again or not earlier.studied) and _lossy(comparison, lost_by_weights):
        unrounded = compared_unrounded(sides, comparison, terms, candidates)
        if unrounded is not None:
            return replace(
                result, studied=True, same_weights=True,
                comparison=unrounded.judged(comparison), hidden=unrounded.located,
            )  # fmt: skip
        # Nodes whose weights are no fair rounding stand out where all others have the reference's.
        part = beyond and compared_unrounded(sides, comparison, terms, candidates, in_part=True)
        if part and part.located is not None and part.located.chain.faults:
            return replace(result, studied=True, hidden=part.located)
    if few_draws and _lossy(comparison, lost_by_weights):
        comparison = compare(reference, candidate, comparison.bindings, terms)
        result, beyond = replace(result, comparison=comparison), _divergent(comparison)
    if not _in_doubt(candidate, comparison, terms):
        return result
    if earlier.studied and not (beyond and kind is InputKind.TEST_SET):
        return result
    result = replace(result, studied=True)
    if beyond:
        # More draws may decide it before the nodes have to.
        candidate.draw_more(MANY_DRAWS)
        comparison = compare(reference, candidate, comparison.bindings, terms)
        result = replace(result, comparison=comparison)
        if not all(doubtful(each, terms.false_alarm) for each in _divergent(comparison)):
            return result
    pairs = [(pair.reference, pair.candidate) for pair in comparison.bindings]
    try:
        located = locate(comparison.as_stored(reference), candidate, pairs)
    except IsomorphError as error:
        skipped = not_done("loss", error.sentence)
        return replace(result, outcome=Outcome(skipped=(skipped,)))
    judged = judge_losses(comparison, located)
    return replace(result, comparison=judged, hidden=located if _divergent(judged) else None)


def judges_same_weights(
    options: CheckConfig,
    sides: tuple[EvaluatedModel, EvaluatedModel],
    earlier: LossStudy,
    candidates: UnroundedCandidates,
) -> bool:
    """Whether a loss is going to be judged with the reference's weights in the candidate."""
    if not options.look_into_loss:
        return False
    return earlier.same_weights if earlier.studied else candidates.apply_to(*sides)


def with_doubtful_losses(comparison: Comparison, terms: Terms) -> Comparison:
    """Losses whose size does not decide are unknown where no node is looked at."""
    divergences = tuple(
        replace(each, verdict=Verdict.UNKNOWN, reason=message("UNKNOWN.loss_in_doubt"))
        if doubtful(each, terms.false_alarm)
        else each
        for each in comparison.divergences
    )
    return replace(comparison, divergences=divergences)


def _lossy(comparison: Comparison, lost: Callable[[Divergence], bool]) -> bool:
    """Whether there is a loss, and nothing is called wrong for another reason than its size."""
    verdicts = [each.verdict for each in comparison.divergences]
    some = Verdict.DEGRADED in verdicts or Verdict.DIVERGENT in verdicts
    return some and comparison.order is None and all(map(lost, _divergent(comparison)))


def _in_doubt(candidate: EvaluatedModel, comparison: Comparison, terms: Terms) -> bool:
    """Whether the comparison shows a loss of precision whose size does not decide."""
    if comparison.order:
        return False
    beyond = _divergent(comparison)
    if not beyond:
        return any(each.verdict is Verdict.DEGRADED for each in comparison.divergences)
    from isomorph.measure.calibration_range import beyond_calibration

    # What an input loses on its own quantization grid is no node's fault.
    clipped = beyond_calibration(candidate.model.graph, candidate.feeds)
    return not clipped and all(doubtful(each, terms.false_alarm) for each in beyond)


def _divergent(comparison: Comparison) -> list[Divergence]:
    return [each for each in comparison.divergences if each.verdict is Verdict.DIVERGENT]


def single_model_reasons(comparison: Comparison) -> Comparison:
    """The comparison of a model with its own oracle, with reasons that mention no other model."""
    return replace(
        comparison,
        divergences=tuple(
            replace(each, reason=message("EQUIVALENT.one_model"))
            if each.verdict is Verdict.EQUIVALENT and each.observed is not None
            else each
            for each in comparison.divergences
        ),
    )
