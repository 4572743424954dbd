"""Comparing the weights of both models, whether or not an input reaches them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from isomorph.checking.verdict import Claim, Outcome
from isomorph.core.coverage import InputKind
from isomorph.core.divergence import Verdict
from isomorph.localize.weight_findings import compared_constants

if TYPE_CHECKING:
    from isomorph.checking.config import CheckConfig
    from isomorph.checking.prepare import PreparedPair
    from isomorph.checking.verdict import Summary
    from isomorph.inputs.feeds import Sample
    from isomorph.localize.weight_effect import ConstantExperiment


def compare_constants(
    prepared: PreparedPair,
    experiment: ConstantExperiment | None,
    summary: Summary,
    samples: Sequence[Sample],
) -> Outcome:
    """Findings for weights that differ; those that the summary already explains are left out.

    A weight that differs makes another function although the given inputs do not show it. If the
    user asked about the given inputs only, it is a finding and does not change the verdict.
    """
    options: CheckConfig = prepared.options
    found = compared_constants(
        prepared.reference,
        prepared.candidate,
        experiment,
        summary.findings,
        stated_budget=bool(options.budgets),
    )
    claims: tuple[Claim, ...] = ()
    if found.differs and not options.only_given:
        kinds = [sample.kind for sample in samples]
        reason = _reason(found.differs, summary.verdict, kinds)
        claims = (Claim(verdict=Verdict.DIVERGENT, reason=reason),)
    return Outcome(findings=found.findings, skipped=found.skipped, claims=claims)


def _reason(differs: str, verdict: Verdict, kinds: Sequence[InputKind]) -> str:
    """What the runs showed, then the weight that decides."""
    generated = all(kind is InputKind.GENERATED for kind in kinds)
    where = ("generated" if generated else "given") + (" input" if len(kinds) == 1 else " inputs")
    if verdict is Verdict.EQUIVALENT:
        return f"the same on the {where}; {differs}"
    if verdict is Verdict.DEGRADED:
        return f"within the loss of lower precision on the {where}; {differs}"
    return differs
