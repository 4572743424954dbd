"""Two reports of one pair next to each other: what changed between two checks."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from isomorph.core.divergence import Verdict
from isomorph.core.report import FindingStatus

REPORT_DIFF_SCHEMA = "isomorph.report-diff/1"


class Presence(StrEnum):
    """In which of the two reports something is."""

    NEW = "new"
    """In the second alone."""
    GONE = "gone"
    """In the first alone."""
    CHANGED = "changed"
    SAME = "same"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSide:
    """What one of the two reports says as a whole."""

    location: str
    """The file of the report."""
    pair: str
    verdict: Verdict
    headline: str
    reason: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FactChange:
    """A fact with another value in each report; None where a report does not state it."""

    of: str
    """The model or the environment that it is about."""
    name: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorChange:
    """One of the errors of an output in both reports: its size, and its share of the budget."""

    term: str
    error_before: float | None
    error_after: float | None
    ratio_before: float | None
    """Of the error to its budget; at most 1 is within."""
    ratio_after: float | None

    @property
    def same(self) -> bool:
        """Whether both reports have the same numbers."""
        return (self.error_before, self.ratio_before) == (self.error_after, self.ratio_after)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputChange:
    """An output in both reports."""

    output: str
    presence: Presence
    verdict_before: Verdict | None
    verdict_after: Verdict | None
    errors: tuple[ErrorChange, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingChange:
    """A finding in both reports, known by its code, its cause and its node."""

    presence: Presence
    code: str
    cause: str | None
    node: str | None
    summary: str
    """Of the second report, where it has the finding."""
    status_before: FindingStatus | None
    status_after: FindingStatus | None
    error_before: float | None
    """The error of the node itself."""
    error_after: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CostChange:
    """The seconds of a phase in both reports; ``total`` is the whole command."""

    phase: str
    before: float | None
    after: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportDiff:
    """What changed between two reports."""

    before: ReportSide
    after: ReportSide
    same: bool
    """Whether nothing but the cost differs."""
    outputs: tuple[OutputChange, ...] = ()
    findings: tuple[FindingChange, ...] = ()
    models: tuple[FactChange, ...] = ()
    """Files, digests, producers and sizes that differ."""
    environments: tuple[FactChange, ...] = ()
    """Versions, settings and facts of runtimes that differ."""
    questions: tuple[FactChange, ...] = ()
    """What the checks were asked, where that differs."""
    cost: tuple[CostChange, ...] = ()
    version: str = ""
    schema: str = REPORT_DIFF_SCHEMA

    @property
    def exit_code(self) -> int:
        """0 where nothing but the cost differs, 1 otherwise."""
        return 0 if self.same else 1
