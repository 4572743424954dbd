"""Findings about a run that leaves its own oracle although the graph is right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from isomorph.core.divergence import Divergence, Verdict
from isomorph.core.errors import IsomorphError
from isomorph.core.messages import message
from isomorph.measure.draws_needed import loss_in_doubt
from isomorph.measure.findings import misshapen

if TYPE_CHECKING:
    from isomorph.core.report import Finding
    from isomorph.measure.evaluated_model import EvaluatedModel


def graphs_differ(divergence: Divergence, false_alarm: float) -> bool:
    """Whether a divergent output is wrong by more than the candidate's run."""
    only_its_run = _only_its_run(divergence, false_alarm)
    return misshapen(divergence) or (
        (divergence.rounding is not None and divergence.rounding.beyond) and not only_its_run
    )


def runs_at_fault(divergences: Sequence[Divergence]) -> bool:
    """Whether the run of either side is off where that decides the verdict."""
    return any(
        each.verdict is Verdict.DIVERGENT
        and (each.execution_candidate is not None and each.execution_candidate.beyond)
        for each in divergences
    ) or bool(_of_reference_alone(divergences))


def runtime_findings(
    sides: tuple[EvaluatedModel, EvaluatedModel],
    divergences: Sequence[Divergence],
    false_alarm: float,
    explained: bool,  # noqa: FBT001
) -> tuple[list[Finding], str | None]:
    """The nodes at which a run leaves its own oracle, the candidate's before the reference's.

    ``explained``: nodes of a wrong graph were found before.
    """
    reference, candidate = sides
    found: list[Finding] = []
    left: list[str] = []
    for evaluated, names in (
        (candidate, _of_candidate(divergences, false_alarm, explained=explained)),
        (reference, _of_reference_alone(divergences)),
    ):
        if not names:
            continue
        from isomorph.diagnose.runtime_faults import runtime_faults

        try:
            faults, unexplained = runtime_faults(evaluated.as_stored(), names, false_alarm)
        except IsomorphError as error:
            faults, unexplained = [], error.sentence
        found += faults if evaluated is candidate else [_of_reference(each) for each in faults]
        left += [unexplained] if unexplained else []
    return found, "; ".join(left) or None


def _of_reference(finding: Finding) -> Finding:
    """The finding as one of the reference's runtime, which no edit of the candidate repairs."""
    code = "REFERENCE_NODE" if finding.code == "GUILTY_NODE" else finding.code
    statement = finding.statement
    if statement is None:
        text = message("REFERENCE_NODE.run", text=finding.summary)
        return replace(finding, code=code, summary=text)
    place = message("REFERENCE_NODE.run", text=statement.place)
    statement = replace(statement, place=place)
    return replace(finding, code=code, statement=statement, summary=statement.text)


def _only_its_run(divergence: Divergence, false_alarm: float) -> bool:
    """Whether the candidate's run is off, and the graphs agree as far as they should.

    A loss that few draws leave in doubt does not make the graph faulty if the run surely is.
    """
    meant = divergence.intended_loss or divergence.translation
    agreed = meant is not None and meant.within
    agreed = agreed or loss_in_doubt(divergence, false_alarm)
    return agreed and (
        divergence.execution_candidate is not None and divergence.execution_candidate.beyond
    )


def _of_candidate(
    divergences: Sequence[Divergence], false_alarm: float, *, explained: bool
) -> list[str]:
    """The divergent outputs at which the candidate's run is off.

    Where nodes of a wrong graph explain what is wrong, those whose graph is right.
    """
    return [
        each.candidate_output
        for each in divergences
        if each.verdict is Verdict.DIVERGENT
        and each.candidate_output is not None
        and (each.execution_candidate is not None and each.execution_candidate.beyond)
        and (
            _only_its_run(each, false_alarm)
            or not (explained and (each.rounding is not None and each.rounding.beyond))
        )
    ]


def _of_reference_alone(divergences: Sequence[Divergence]) -> list[str]:
    """The outputs about which nothing is known because the reference's own run is off."""
    return [
        each.reference_output
        for each in divergences
        if each.verdict is Verdict.UNKNOWN
        and each.reference_output is not None
        and (each.execution_reference is not None and each.execution_reference.beyond)
    ]
