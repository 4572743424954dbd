"""Run every cause on a fault context and keep the diagnosis of the highest certainty."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph import registry
from isomorph.core.experiments import experiment
from isomorph.core.fault_context import Certainty, Diagnosis, FaultContext, FaultSite
from isomorph.core.limits import noted_limits
from isomorph.core.messages import message
from isomorph.core.patch import Patch, SetAttribute
from isomorph.core.report import Experiment, Fact
from isomorph.diagnose.known_issues import matching_issues
from isomorph.diagnose.reference_nodes import original_nodes

if TYPE_CHECKING:
    from isomorph.core.protocols import Cause
    from isomorph.core.report import Finding

_ALTERNATIVES = 2
"""Further diagnoses that the evidence of a finding names."""
EXTENSION_ERRORS = (ArithmeticError, ValueError, IndexError, KeyError, TypeError)
"""Exceptions that an extension may raise on a graph it was not written for."""


def diagnoses(context: FaultContext) -> list[Diagnosis]:
    """Every diagnosis, the highest certainty first; equals in the order of the registry."""
    site = FaultSite.GRAPH if context.execution is None else FaultSite.RUN
    causes = [registry.cause(name) for name in registry.names("causes")]
    with noted_limits() as hit:
        answers = [
            answer
            for cause in causes
            if site in cause.sites
            for answer in _examined(cause, context)
        ]
    if all(answer.certainty < Certainty.CONFIRMED for answer in answers):
        for limit in hit:
            limit.reached()
    if context.right_without_grids:
        of_grids = {cause.name for cause in causes if FaultSite.GRID in cause.sites}
        answers = [each for each in answers if each.cause in of_grids] or answers
    return sorted(answers, key=lambda answer: -answer.certainty)


def _examined(cause: Cause, context: FaultContext) -> Iterator[Diagnosis]:
    """The diagnoses of one cause; a failing cause yields a refuted one and raises nothing.

    Experiments try extreme values, so floating-point warnings are ignored.
    """
    try:
        with np.errstate(all="ignore"):
            answers = list(cause.examine(context))
    except EXTENSION_ERRORS as error:
        yield Diagnosis(
            cause=cause.name,
            summary=message("CAUSE.not_examined"),
            certainty=Certainty.REFUTED,
            experiments=(
                experiment(
                    "CAUSE.failed",
                    agrees=False,
                    cause=cause.name,
                    error=f"{type(error).__name__}: {error}",
                ),
            ),
        )
    else:
        yield from answers


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosedFinding:
    """A finding with its cause, and the diagnoses behind it that were not refuted, best first."""

    finding: Finding
    diagnoses: tuple[Diagnosis, ...] = ()

    @property
    def restores_run(self) -> bool:
        """Whether one change of the settings was seen to restore every output of the run."""
        return bool(self.diagnoses) and self.diagnoses[0].restores_run


def with_cause(finding: Finding, context: FaultContext, frameworks: Sequence[str] = ()) -> Finding:
    """The finding with its cause, the experiments behind it, and what would repair it."""
    return diagnosed(finding, context, frameworks).finding


def diagnosed(
    finding: Finding, context: FaultContext, frameworks: Sequence[str] = ()
) -> DiagnosedFinding:
    """The finding with its cause; experiments that refuted other causes are kept."""
    answers = diagnoses(context)
    rejected = [each for each in answers if each.certainty == Certainty.REFUTED]
    refuted = [each for answer in rejected for each in answer.experiments]
    standing = [each for each in answers if each.certainty != Certainty.REFUTED]
    if not standing:
        unknown = replace(finding, experiments=(*finding.experiments, *refuted))
        return DiagnosedFinding(finding=unknown)
    explained = with_diagnosis(finding, standing, refuted, context, frameworks)
    return DiagnosedFinding(finding=explained, diagnoses=tuple(standing))


def with_diagnosis(
    finding: Finding,
    standing: Sequence[Diagnosis],
    refuted: Sequence[Experiment],
    context: FaultContext,
    frameworks: Sequence[str] = (),
) -> Finding:
    """The finding with the first of these diagnoses; the next two are in its evidence."""
    best = standing[0]
    others = [f"{each.cause}: {each.summary}" for each in standing[1 : 1 + _ALTERNATIVES]]
    evidence = {**finding.evidence, **best.evidence, **({"also": others} if others else {})}
    if best.certainty > Certainty.POSSIBLE and best.node not in (None, finding.node):
        evidence[Fact.MEMBER] = best.node
    # A change that could be tried and did not restore the node is no advice.
    proven = best.certainty >= Certainty.CONFIRMED or context.execution is not None
    fix = best.fix if proven or not _can_try(context) else None
    issues = matching_issues(best, context, frameworks)
    return replace(
        caused(finding, best.summary),
        cause=best.cause,
        causes=tuple(dict.fromkeys(each.cause for each in standing[: 1 + _ALTERNATIVES])),
        experiments=(*finding.experiments, *best.experiments, *refuted),
        evidence={**evidence, **({"known_issues": issues} if issues else {})},
        fix=fix or _put_back(context),
    )


def caused(finding: Finding, cause: str) -> Finding:
    """The finding with its cause, which comes first where it is about one place."""
    if finding.statement is None:
        text = message("CAUSE.after", summary=finding.summary, cause=cause)
        return replace(finding, summary=text)
    statement = replace(finding.statement, cause=cause)
    return replace(finding, statement=statement, summary=statement.text)


def _can_try(context: FaultContext) -> bool:
    """Whether edits of the faulty node can be tried: not every format supports every edit."""
    stated = [(name, value) for name, value in context.node.attributes.items() if value is not None]
    edits = (
        (SetAttribute(node=context.node.name, name=stated[0][0], value=stated[0][1]),)
        if stated
        else ()
    )
    return context.rehearse(Patch(summary="", edits=edits)) is not None


def _put_back(context: FaultContext) -> str | None:
    """The summary of a tried patch that copies the reference's nodes; None where none restores.

    A cause that the graphs merely suggest is reported without advice.
    """
    if context.execution is not None:
        return None
    for patch in original_nodes(context):
        found = context.rehearse(patch)
        if found is not None and context.equals(found):
            return patch.summary
    return None
