"""The faulty node that a report names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from isomorph.core.errors import UsageError
from isomorph.core.untrusted_json import read_json

_MOST_BYTES = 256 << 20


def reported_node(path: Path) -> str:
    """The node of the first finding that names a faulty one, out of a JSON report."""
    try:
        with path.open("rb") as file:
            report: Any = read_json(file.read(_MOST_BYTES))
        named = [each["node"] for each in report["findings"] if each["code"] == "GUILTY_NODE"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(
            "REPORT_UNREADABLE",
            "this is no report of isomorph check",
            file=str(path),
            why=str(error),
            fix="write one with: isomorph check ... --format json -o FILE",
        ) from error
    if not named or not isinstance(named[0], str):
        raise UsageError("NOTHING_TO_EXTRACT", "the report names no faulty node", file=str(path))
    return named[0]
