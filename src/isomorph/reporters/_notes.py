"""Notes below a report: what a baseline accepts, what was not compared, names, what was skipped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import RenderableType

from isomorph.core.escaping import counted, printable
from isomorph.core.messages import message
from isomorph.core.report import BoundBy, FindingEffect
from isomorph.reporters._findings import labeled

if TYPE_CHECKING:
    from isomorph.core.report import Binding, Finding, Report, Skipped

MOST_NOTES = 6


def is_note(finding: Finding) -> bool:
    """Whether a finding states a fact that changes no number."""
    return finding.effect == FindingEffect.NONE


def baseline_statuses(report: Report) -> Iterator[RenderableType]:
    """What the baseline says of each divergence."""
    for each in report.baseline.statuses if report.baseline is not None else ():
        until = each.accepted.until if each.accepted is not None else None
        text = f"{each.what} is {each.state}: {each.message}"
        yield labeled("baseline", printable(text + (f", until {until}" if until else "")))


def stated_facts(report: Report) -> Iterator[RenderableType]:
    """Findings that change no number, a line for each."""
    facts = [each for each in report.findings if is_note(each)]
    for each in facts[:MOST_NOTES]:
        text = each.summary if each.fix is None else f"{each.summary}; {each.fix}"
        yield labeled("note", f"{printable(text)} ({printable(each.code)})")
    if len(facts) > MOST_NOTES:
        yield labeled("note", message("REPORT.more", count=len(facts) - MOST_NOTES))


def notes(report: Report, *, skipped: bool) -> Iterator[RenderableType]:
    """What was not compared, the alignment, pairs of names, and what was skipped."""
    yield from _not_compared(report)
    if report.alignment is not None and skipped:
        yield labeled("alignment", report.alignment.summary)
    parts = [f"{model.role}: {note}" for model in report.models for note in model.notes]
    parts += _renamed("input", report.input_bindings)
    parts += _renamed("output", report.output_bindings)
    parts += [f"trusted: {what}" for what in report.trusted]
    for line in parts[:MOST_NOTES]:
        yield labeled("note", printable(line))
    if len(parts) > MOST_NOTES:
        yield labeled("note", message("REPORT.more", count=len(parts) - MOST_NOTES))
    lines = _skipped(report.skipped)
    if lines and not skipped:
        yield labeled("skipped", message("REPORT.skipped", steps=counted(len(lines), "step")))
        return
    for line in lines[:MOST_NOTES]:
        yield labeled("skipped", printable(line))
    if len(lines) > MOST_NOTES:
        yield labeled("skipped", message("REPORT.more", count=len(lines) - MOST_NOTES))


def _not_compared(report: Report) -> Iterator[RenderableType]:
    """Outputs that are owed on some input, and the reasons."""
    covered = report.coverage.outputs if report.coverage is not None else ()
    missing = [each for each in covered if each.not_compared]
    for each in missing[:MOST_NOTES]:
        tried = each.within + each.beyond + each.not_compared
        text = message(
            "REPORT.not_compared",
            output=each.output,
            count=each.not_compared,
            inputs=counted(tried, "input"),
        )
        yield labeled("unjudged", printable(f"{text}: {'; '.join(each.reasons)}"))
    if len(missing) > MOST_NOTES:
        yield labeled("unjudged", message("REPORT.more", count=len(missing) - MOST_NOTES))


def _skipped(all_of: Sequence[Skipped]) -> list[str]:
    """What was skipped, grouped by the reason."""
    found: dict[str, list[str]] = {}
    for one in all_of:
        found.setdefault(one.why, []).append(one.what)
    return [f"{'; '.join(dict.fromkeys(whats))}: {why}" for why, whats in found.items()]


def _renamed(kind: str, bindings: Sequence[Binding]) -> list[str]:
    # A pair of equal names, bound by them, is what everyone expects.
    return [
        message("INTERFACE.renamed_in_order", reference=one.reference, candidate=one.candidate)
        if kind == "input" and one.how is BoundBy.VALUES
        else message(
            "INTERFACE.renamed",
            kind=kind,
            reference=one.reference,
            candidate=one.candidate,
            how=one.how,
        )
        for one in bindings
        if one.reference != one.candidate or one.how != BoundBy.NAME
    ]
