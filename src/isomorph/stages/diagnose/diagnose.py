"""Ask every cause about a guilty place, and keep the answer that is best founded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from isomorph import registry
from isomorph.stages.diagnose.known_issues import cited

if TYPE_CHECKING:
    from isomorph.core.case import Case, Diagnosis
    from isomorph.core.report import Experiment, Finding

GRAPH, RUN = "graph", "run"
"""What a cause may accuse: the translated graph, or the run of a graph that is right."""


def diagnoses(case: Case) -> list[Diagnosis]:
    """Every answer, the best founded first; among equals the order of the registry."""
    accused = GRAPH if case.execution is None else RUN
    causes = [registry.cause(name) for name in registry.names("causes")]
    answers = [
        answer
        for cause in causes
        if accused in getattr(cause, "accuses", (GRAPH,))
        for answer in cause.examine(case)
    ]
    return sorted(answers, key=lambda answer: -answer.certainty)


def explained(finding: Finding, case: Case, frameworks: Sequence[str] = ()) -> Finding:
    """The finding with its cause, the experiments behind it, and what would repair it.

    Experiments that refuted another cause are kept: they say what it is not.
    """
    answers = diagnoses(case)
    refuted = [each for answer in answers if not answer.certainty for each in answer.experiments]
    standing = [answer for answer in answers if answer.certainty]
    if not standing:
        return replace(finding, experiments=(*finding.experiments, *refuted))
    return answered(finding, standing, refuted, case, frameworks)


def answered(
    finding: Finding,
    standing: Sequence[Diagnosis],
    refuted: Sequence[Experiment],
    case: Case,
    frameworks: Sequence[str] = (),
) -> Finding:
    """The finding with the first of these answers, and what else was said beside it."""
    best = standing[0]
    others = [f"{each.cause}: {each.summary}" for each in standing[1:3]]
    evidence = {**finding.evidence, **best.evidence, **({"also": others} if others else {})}
    if best.certainty > 1 and best.node not in (None, finding.node):
        evidence["member"] = best.node
    issues = cited(best.cause, f"{best.summary} {best.evidence}", case, frameworks)
    return replace(
        finding,
        cause=best.cause,
        summary=f"{finding.summary}; {best.summary}",
        experiments=(*finding.experiments, *best.experiments, *refuted),
        evidence={**evidence, **({"known_issues": issues} if issues else {})},
        fix=best.fix,
    )
