"""The nodes behind outputs that differ by less than rounding shows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from isomorph.checking.verdict import Outcome
from isomorph.core.divergence import Verdict
from isomorph.core.errors import IsomorphError
from isomorph.core.messages import message
from isomorph.core.report import FindingEffect

if TYPE_CHECKING:
    from isomorph.core.divergence import Divergence
    from isomorph.measure.compare import Comparison
    from isomorph.measure.evaluated_model import EvaluatedModel


def differs_below_rounding(comparison: Comparison) -> bool:
    """Whether outputs differ by more than re-rounded constants explain, and none by more."""
    judged = comparison.divergences
    equal = all(each.verdict is Verdict.EQUIVALENT for each in judged)
    return equal and comparison.order is None and any(map(_hidden, judged))


def _hidden(divergence: Divergence) -> bool:
    return divergence.translation is not None and divergence.translation.beyond


def nodes_below_rounding(
    sides: tuple[EvaluatedModel, EvaluatedModel], comparison: Comparison
) -> Outcome:
    """Findings for the nodes, where they explain all that differs; nothing is judged by them."""
    from isomorph.diagnose.diagnose_faults import diagnosed_faults
    from isomorph.localize.findings import remarked
    from isomorph.localize.locate import locate_below_rounding

    hidden = [each for each in comparison.divergences if _hidden(each)]
    pairs = [
        (pair.reference, pair.candidate)
        for pair in comparison.bindings
        if any(pair.candidate == each.candidate_output for each in hidden)
    ]
    try:
        located = locate_below_rounding(*sides, pairs)
        if not located.chain.explained:
            return Outcome()
        found, _ = diagnosed_faults(*sides, (), located)
    except IsomorphError:
        return Outcome()  # the finding about the output stands
    return Outcome(
        located=tuple(
            replace(
                remarked(each, message("BELOW_ROUNDING.node")),
                code="BELOW_ROUNDING",
                effect=FindingEffect.BELOW_ROUNDING,
            )
            for each in found
        )
    )
