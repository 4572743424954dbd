"""What changed between two sweeps, as text or Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.core.escaping import printable
from isomorph.core.messages import message
from isomorph.core.sweep_changes import ChangeKind
from isomorph.reporters.table import columns

if TYPE_CHECKING:
    from isomorph.core.sweep import CellResult
    from isomorph.core.sweep_changes import CellChange, SweepChanges


def as_text(found: SweepChanges) -> str:
    """The counts, and every cell that changed."""
    sides = (
        message("SWEEP.before", store=printable(found.before)),
        message("SWEEP.after", store=printable(found.after)),
    )
    lines = [_counts(found), *(f"  {each}" for each in sides)]
    rows = [(each.kind, each.name, _answer(each.before), _answer(each.after))
            for each in _changed(found)]  # fmt: skip
    if rows:
        lines += ["", columns([("change", "cell", "before", "after"), *rows])]
    return "\n".join(lines)


def as_markdown(found: SweepChanges) -> str:
    """The same as a table."""
    lines = [f"**{_counts(found)}**", ""]
    rows = [
        (each.kind, each.name, _answer(each.before), _answer(each.after))
        for each in _changed(found)
    ]
    if rows:
        table = [("change", "cell", "before", "after"), ("---",) * 4, *rows]
        lines += ["| " + " | ".join(printable(each).replace("|", "\\|") for each in row) + " |"
                  for row in table]  # fmt: skip
    return "\n".join(lines)


def _counts(found: SweepChanges) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in found.counted().items()) or message(
        "SWEEP.no_cells"
    )


def _changed(found: SweepChanges) -> list[CellChange]:
    order = list(ChangeKind)
    changed = (each for each in found.changes if each.kind is not ChangeKind.SAME)
    return sorted(changed, key=lambda each: order.index(each.kind))


def _answer(cell: CellResult | None) -> str:
    if cell is None:
        return "—"
    return cell.outcome if cell.ratio is None else f"{cell.outcome} {cell.ratio:.2g}×"
