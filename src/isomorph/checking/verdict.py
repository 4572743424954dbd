"""What each phase of a check found, and the verdict that follows from all of them.

A phase returns an ``Outcome``; ``extended`` adds it to the ``Summary`` of the phases before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from isomorph.core.divergence import Divergence, Verdict
from isomorph.core.messages import message
from isomorph.measure.worst_sample import SEVERITY, weight

if TYPE_CHECKING:
    from isomorph.core.report import Finding, NotRun, Skipped

OutputKey = tuple[str | None, str | None]
"""The names of an output in the reference and in the candidate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A verdict that one phase arrived at, with its reason."""

    verdict: Verdict
    reason: str
    unmeasured_reason: str = ""
    """Replaces the reason of an unknown verdict if no output behind it could be measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one phase found."""

    findings: tuple[Finding, ...] = ()
    located: tuple[Finding, ...] = ()
    """Findings that name a place; they come before those of earlier phases."""
    skipped: tuple[Skipped, ...] = ()
    divergences: tuple[Divergence, ...] = ()
    claims: tuple[Claim, ...] = ()
    explained: frozenset[str] = frozenset()
    """Outputs of the candidate whose divergence a finding explains."""
    moves_channels: bool = False
    """Whether the candidate takes an input with its channel axis moved."""
    abort_reason: str = ""
    """Why nothing more is run: a runtime died."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The outcomes of all phases so far; of each output the worst divergence."""

    verdict: Verdict = Verdict.EQUIVALENT
    reason: str = ""
    findings: tuple[Finding, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    divergences: Mapping[OutputKey, Divergence] = field(default_factory=dict)
    explained: frozenset[str] = frozenset()
    moves_channels: bool = False
    abort_reason: str = ""


def extended(summary: Summary, outcome: Outcome) -> Summary:
    """The summary with one more outcome."""
    divergences = dict(summary.divergences)
    for each in outcome.divergences:
        key = each.reference_output, each.candidate_output
        if key not in divergences or weight(each) > weight(divergences[key]):
            divergences[key] = each
    summary = replace(
        summary,
        findings=(*outcome.located, *summary.findings, *outcome.findings),
        skipped=(*summary.skipped, *outcome.skipped),
        divergences=divergences,
        explained=summary.explained | outcome.explained,
        moves_channels=summary.moves_channels or outcome.moves_channels,
        abort_reason=outcome.abort_reason or summary.abort_reason,
    )
    for claim in outcome.claims:
        summary = _claimed(summary, claim)
    return summary


def without_known(outcome: Outcome, summary: Summary) -> Outcome:
    """The outcome without findings at nodes that earlier ones name with the same code."""
    known = {(each.code, each.node) for each in summary.findings if each.node is not None}
    located = tuple(each for each in outcome.located if (each.code, each.node) not in known)
    return replace(outcome, located=located)


def claims_of(divergences: Iterable[Divergence]) -> tuple[Claim, ...]:
    """The verdicts of single outputs."""
    return tuple(Claim(verdict=each.verdict, reason=each.reason) for each in divergences)


def known_to_differ(summary: Summary) -> frozenset[OutputKey]:
    """The pairs of outputs that some sample has shown to differ."""
    worst = summary.divergences.items()
    return frozenset(key for key, each in worst if each.verdict is Verdict.DIVERGENT)


def not_run_here(
    verdict: Verdict, reason: str, not_run: Sequence[NotRun], *, asked: bool
) -> tuple[Verdict, str]:
    """The verdict on graphs of which a model was not run; ``asked``: they alone were asked about.

    That graphs differ needs no run. That they are the same says nothing about one.
    """
    why = ", ".join(dict.fromkeys(each.why for each in not_run))
    if verdict is Verdict.DIVERGENT:
        return verdict, reason
    if asked:
        return verdict, message("VERDICT.in_float64", reason=reason, why=why)
    return Verdict.UNKNOWN, message("UNKNOWN.not_run", verdict=verdict, why=why)


def without_runs(divergence: Divergence, not_run: Sequence[NotRun]) -> Divergence:
    """The divergence without the errors of runs that were not made."""
    roles = {each.role for each in not_run}
    if not roles:
        return divergence
    return replace(
        divergence,
        observed=None,
        execution_reference=None if "reference" in roles else divergence.execution_reference,
        execution_candidate=None if "candidate" in roles else divergence.execution_candidate,
    )


def _claimed(summary: Summary, claim: Claim) -> Summary:
    """The graver verdict; of equal ones the first keeps its reason."""
    graver = SEVERITY.index(claim.verdict) > SEVERITY.index(summary.verdict)
    if graver or not summary.reason:
        summary = replace(summary, verdict=claim.verdict, reason=claim.reason)
    if claim.unmeasured_reason and _only_unmeasured(summary):
        return replace(summary, reason=claim.unmeasured_reason)
    return summary


def _only_unmeasured(summary: Summary) -> bool:
    """Whether the verdict is unknown for outputs of which nothing could be measured."""
    unknown = [d for d in summary.divergences.values() if d.reason == summary.reason]
    return (
        summary.verdict is Verdict.UNKNOWN
        and bool(unknown)
        and all(d.observed is None for d in unknown)
    )
