"""A sweep as text, Markdown or rows: models against environments, and what is not fine."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING

from isomorph.core.escaping import counted, printable
from isomorph.core.messages import message
from isomorph.core.sweep import CellResult
from isomorph.reporters.table import columns

if TYPE_CHECKING:
    from isomorph.core.sweep import Sweep

FINE = ("equivalent", "degraded", "proven", "repaired")
SYMBOLS = {"equivalent": "=", "degraded": "≈", "divergent": "≠", "unknown": "?", "proven": "≡",
           "open": "○", "repaired": "✓", "unrepaired": "✗", "error": "!", "lost": "!",
           "left": "·"}  # fmt: skip
_NAMED = 40
"""Cells that are named one by one because they are not fine; all are in the exported rows."""


def as_text(found: Sweep) -> str:
    """The counts, the matrix, and every cell that is not fine with its reason."""
    fresh = sum(each.fresh for each in found.cells)
    known = len(found.cells) - fresh
    effort = message(
        "SWEEP.effort",
        fresh=fresh,
        seconds=found.seconds,
        known=known,
        store=printable(found.store),
    )
    lines = [summary(found), f"  {effort}"]
    if found.interrupted:
        lines.append(f"  {message('SWEEP.interrupted')}")
    lines += ["", columns(_matrix(found)), "", f"  {_legend(found)}"]
    wrong = [each for each in found.cells if each.outcome not in FINE]
    for each in wrong[:_NAMED]:
        lines += ["", f"{printable(each.name)}: {each.outcome.upper()}"]
        if each.reason:
            lines.append(f"  {printable(each.reason, limit=300)}")
        if each.node or each.cause:
            node, cause = printable(each.node) or "—", each.cause or "—"
            lines.append(f"  {message('SWEEP.place', node=node, cause=cause)}")
        if each.report:
            lines.append(f"  {printable(found.store)}/{each.report}")
    if len(wrong) > _NAMED:
        lines += ["", message("SWEEP.more", count=len(wrong) - _NAMED)]
    return "\n".join(lines)


def summary(found: Sweep) -> str:
    """How many cells have each outcome, on one line."""
    counts = ", ".join(f"{number} {name}" for name, number in ranked(found))
    return message("SWEEP.counts", cells=counted(len(found.cells), "cell"), counts=counts)


def as_markdown(found: Sweep) -> str:
    """The same matrix for a summary of continuous integration."""
    rows = _matrix(found, whole=True)
    table = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    cells = ["| " + " | ".join(printable(each).replace("|", "\\|") for each in row) + " |"
             for row in table]  # fmt: skip
    return "\n".join([f"**{summary(found)}**", "", *cells])


def as_csv(found: Sweep) -> str:
    """One row for each cell, with every field."""
    stream = io.StringIO()
    names = [each.name for each in fields(CellResult)]
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(names)
    for each in found.cells:
        values = asdict(each)
        writer.writerow([values[name] for name in names])
    return stream.getvalue()


def ranked(found: Sweep) -> list[tuple[str, int]]:
    """How many cells have each outcome, the best first."""
    order = list(SYMBOLS)
    counts = found.counted()
    return sorted(counts.items(), key=lambda each: order.index(each[0]) if each[0] in order else 99)


def _matrix(found: Sweep, *, whole: bool = False) -> list[Sequence[str]]:
    """Models down, environments (with shard and seed) across."""
    across = list(dict.fromkeys(column(each) for each in found.cells))
    down = list(dict.fromkeys(each.model for each in found.cells))
    cells = {(each.model, column(each)): each for each in found.cells}
    rows: list[Sequence[str]] = [["model", *across]]
    for model in down:
        row = [cells.get((model, column)) for column in across]
        rows.append([model, *("" if each is None else _shown(each, whole=whole) for each in row)])
    return rows


def _shown(result: CellResult, *, whole: bool) -> str:
    name = result.outcome
    text = f"{SYMBOLS.get(name, '?')} {name}" if whole else f"{SYMBOLS.get(name, '?')}"
    return text if result.ratio is None else f"{text} {result.ratio:.2g}×"


def column(result: CellResult) -> str:
    """The environment, with the shard of the data and a seed other than 0."""
    seed = message("SWEEP.seed", seed=result.seed) if result.seed else ""
    parts = (result.environment, result.shard, seed)
    return " ".join(each for each in parts if each)


def _legend(found: Sweep) -> str:
    shown = [f"{SYMBOLS[name]} {name}" for name in SYMBOLS if name in found.counted()]
    return message("SWEEP.legend", symbols=", ".join(shown))
