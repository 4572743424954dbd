"""Ask every cause about a guilty place, and keep the answer that is best founded."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from isomorph import registry

if TYPE_CHECKING:
    from isomorph.core.case import Case, Diagnosis
    from isomorph.core.report import Finding


def diagnoses(case: Case) -> list[Diagnosis]:
    """Every answer, the best founded first; among equals the order of the registry."""
    answers = [
        answer for name in registry.names("causes") for answer in registry.cause(name).examine(case)
    ]
    return sorted(answers, key=lambda answer: -answer.certainty)


def explained(finding: Finding, case: Case) -> Finding:
    """The finding with its cause, the experiment behind it, and what would repair it."""
    answers = diagnoses(case)
    if not answers:
        return finding
    best = answers[0]
    others = [f"{each.cause}: {each.summary}" for each in answers[1:3]]
    return replace(
        finding,
        cause=best.cause,
        summary=f"{finding.summary}; {best.summary}",
        experiments=(*finding.experiments, *best.experiments),
        evidence={**finding.evidence, **best.evidence, **({"also": others} if others else {})},
        fix=best.fix,
    )
