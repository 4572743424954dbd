"""The page of the documentation: what became of every model of every package."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.packages.asking import Row

_INTRODUCTION = """# Trained models from packages

Every model file of the packages below, checked alone (its run against its float64 oracle), against
the other formats of the same network in its package, and converted to every format and width that
a converter leads to. No code of a package is run. `make bench-packages` makes this page and
continues where it was ended; a question without a row has not been asked yet.

*CPU s* is the time of all processes of one question, *MB held* the most memory of them together.
A conversion names the steps of the route that was taken; its last check is against the first model.
Integer widths are calibrated on generated samples. `failed` is a converter that gave no model, with
its own words shortened; `refused` a file that holds no model which the installed framework can
build; `timeout` a question that was ended at its limit of CPU seconds.
"""
_MEGABYTE = 1e6


def page(rows: Sequence[Row], packages: Sequence[str]) -> str:
    """The Markdown of all rows; ``packages`` are all names that there are questions about."""
    lines = [_INTRODUCTION, _counts(rows), ""]
    missing = [name for name in packages if name not in {row.package for row in rows}]
    if missing:
        lines += [f"No question about these packages has been asked yet: {', '.join(missing)}.", ""]
    for package in dict.fromkeys(row.package for row in rows):
        own = [row for row in rows if row.package == package]
        lines += [f"## {package} {own[0].version}", ""]
        lines += ["| file | MB | question | verdict | CPU s | MB held | note |"]
        lines += ["| --- | ---: | --- | --- | ---: | ---: | --- |"]
        lines += [_cells(row) for row in own]
        lines.append("")
    return "\n".join(lines)


def _counts(rows: Sequence[Row]) -> str:
    checks = Counter(row.verdict for row in rows if not _converts(row))
    made = Counter(row.verdict for row in rows if _converts(row))
    return f"Checks: {_listed(checks)}. Conversions: {_listed(made)}."


def _converts(row: Row) -> bool:
    return row.route not in {"check", "find"} and not row.route.startswith("against ")


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()) or "none"


def _cells(row: Row) -> str:
    note = row.error or " → ".join(row.converters)
    cells = (
        "/".join(Path(row.file).parts[-2:]) or "—",
        f"{row.size / _MEGABYTE:.1f}" if row.size else "",
        f"to {row.route}" if _converts(row) else row.route,
        row.verdict,
        "" if row.cpu_seconds is None else f"{row.cpu_seconds:.0f}",
        "" if row.peak_mb is None else str(row.peak_mb),
        # What a converter says is no table and no link, even where it looks like one.
        note.replace("|", "\\|").replace("](", "]\\("),
    )
    return f"| {' | '.join(cells)} |"
