"""What changed between two sweeps, cell by cell."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from isomorph.core.sweep import CellResult

SCHEMA = "isomorph.sweep-changes/1"


class ChangeKind(StrEnum):
    """How the answer of a cell changed; the order is that of reports."""

    WORSE = "worse"
    """Its verdict is worse than before."""
    UNANSWERED = "unanswered"
    """It had an answer, and has none: an error, or not run."""
    NEW = "new"
    """It was not there, or had no answer."""
    FIXED = "fixed"
    """It was not fine, and is equivalent, degraded or proven."""
    BETTER = "better"
    """Its verdict is better than before, and it is not fixed."""
    GONE = "gone"
    """The later sweep does not have it."""
    SAME = "same"
    """Its verdict is the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellChange:
    """A cell of one or both sweeps."""

    name: str
    kind: ChangeKind
    before: CellResult | None
    after: CellResult | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepChanges:
    """Every cell of both sweeps, once."""

    before: str
    after: str
    changes: tuple[CellChange, ...]
    schema: str = SCHEMA

    def counted(self) -> dict[ChangeKind, int]:
        """How many cells changed in each way, in the order of the kinds."""
        counts = {kind: sum(each.kind is kind for each in self.changes) for kind in ChangeKind}
        return {kind: count for kind, count in counts.items() if count}

    @property
    def exit_code(self) -> int:
        """1 if a cell is worse or lost its answer, or a new one is not fine; else 0."""
        bad = (ChangeKind.WORSE, ChangeKind.UNANSWERED)
        new = [each.after for each in self.changes if each.kind is ChangeKind.NEW]
        if any(each is not None and each.exit_code != 0 for each in new):
            return 1
        return int(any(each.kind in bad for each in self.changes))
