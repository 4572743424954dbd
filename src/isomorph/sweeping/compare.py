"""Two sweeps side by side: cells of one name, whatever their models and versions were."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from isomorph.core.sweep_changes import CellChange, ChangeKind, SweepChanges
from isomorph.store.sweep_store import read_cells

if TYPE_CHECKING:
    from isomorph.core.sweep import CellResult

_RANKS: Mapping[str, int] = {
    "equivalent": 0, "proven": 0, "repaired": 1, "degraded": 1, "unknown": 2, "open": 2,
    "divergent": 3, "unrepaired": 3,
}  # fmt: skip
_FINE = 1
"""The last rank of a verdict that is fine."""


def compare_stores(before: Path, after: Path) -> SweepChanges:
    """What changed from the last sweep of one store to that of another."""
    return SweepChanges(
        before=str(before), after=str(after),
        changes=tuple(_changes(_by_name(before), _by_name(after))),
    )  # fmt: skip


def _by_name(store: Path) -> dict[str, CellResult]:
    return {each.name: each for each in read_cells(store)}


def _changes(before: Mapping[str, CellResult], after: Mapping[str, CellResult]) -> list[CellChange]:
    names = [*after, *(name for name in before if name not in after)]
    return [
        CellChange(
            name=name, kind=kind_of(before.get(name), after.get(name)), before=before.get(name),
            after=after.get(name),
        )
        for name in names
    ]  # fmt: skip


def kind_of(before: CellResult | None, after: CellResult | None) -> ChangeKind:
    """How one cell changed."""
    if after is None:
        return ChangeKind.GONE
    old = None if before is None else _RANKS.get(before.verdict)
    new = _RANKS.get(after.verdict)
    if new is None:
        return ChangeKind.UNANSWERED if old is not None else ChangeKind.SAME
    if old is None:
        return ChangeKind.NEW
    if new > old:
        return ChangeKind.WORSE
    if new == old:
        return ChangeKind.SAME
    return ChangeKind.FIXED if new <= _FINE < old else ChangeKind.BETTER
