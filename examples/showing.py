"""Print what an example measured: a table for people, and with ``--json FILE`` the facts too."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Facts = dict[str, Any]


def show(facts: Facts) -> None:
    """Rows (values that are mappings) as one table, everything else as a line below it."""
    rows = {name: row for name, row in facts.items() if isinstance(row, Mapping)}
    if rows:
        columns = list(dict.fromkeys(column for row in rows.values() for column in row))
        lines = [["", *columns]]
        lines += [[name, *(_word(row.get(c, "")) for c in columns)] for name, row in rows.items()]
        widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
        for line in lines:
            cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
            print("  ".join(cells).rstrip())
    single = {name: value for name, value in facts.items() if name not in rows}
    if rows and single:
        print()
    for name, value in single.items():
        print(f"{name}: {_word(value)}")
    if "--json" in sys.argv:
        Path(sys.argv[sys.argv.index("--json") + 1]).write_text(json.dumps(facts))


def first_finding(report: Any) -> dict[str, Any]:
    """The verdict and the first finding: its node, its cause, and whether it is confirmed."""
    first = report.findings[0] if report.findings else None
    return {
        "verdict": report.verdict.value,
        "node": (first.node if first else None) or "",
        "cause": (first.cause if first else None) or "",
        "confirmed": first is not None and first.status == "confirmed",
    }


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_word, value))
    return str(value)
