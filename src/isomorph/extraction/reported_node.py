"""The node to extract, out of a report of an earlier check."""

from __future__ import annotations

from pathlib import Path

from isomorph.core.errors import UsageError
from isomorph.store.reports import read_report


def reported_node(path: Path) -> str:
    """The node of the first finding that names a faulty one, out of a JSON report."""
    found = (each for each in read_report(path).findings if each.code == "GUILTY_NODE")
    node = next((each.node for each in found if each.node), None)
    if node is None:
        raise UsageError("NOTHING_TO_EXTRACT", "the report names no faulty node", file=str(path))
    return node
