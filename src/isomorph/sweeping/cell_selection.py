"""Which cells of a sweep file are run: a part of them, or those that fit a pattern."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from isomorph.core.errors import UsageError
from isomorph.store.sweep_files import NAME, read_sweep

if TYPE_CHECKING:
    from isomorph.core.sweep import Cell, SweepPlan


def planned(file: str | Path) -> SweepPlan:
    """The cells of a sweep file; of a folder, those of its ``sweep.toml``."""
    path = Path(file)
    return read_sweep(path / NAME if path.is_dir() else path)


def chosen_cells(plan: SweepPlan, shard: tuple[int, int], only: Sequence[str]) -> list[Cell]:
    """The cells of one part that fit a pattern."""
    number, count = shard
    if not 1 <= number <= count:
        raise UsageError(
            "BAD_OPTION", f"--shard {number}/{count} is no part",
            why="parts are 1/COUNT to COUNT/COUNT",
        )  # fmt: skip
    part = [cell for place, cell in enumerate(plan.cells) if place % count == number - 1]
    found = [
        cell for cell in part
        if not only or any(fnmatchcase(cell.name, each) for each in only)
    ]  # fmt: skip
    if only and not found:
        names = ", ".join(cell.name for cell in part[:5])
        raise UsageError("UNKNOWN_NAME", "no cell fits --only", why=f"the first cells: {names}")
    return found
