"""``isomorph.load_report``: a report that a check wrote as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isomorph.core.report import Report


def load_report(path: str | Path) -> Report:
    """The report of a JSON file, as ``isomorph check -o report.json`` and ``Report.save`` write it.

    Reports of earlier versions are read, too.

    >>> isomorph.check("network.onnx", "altered.onnx").save("report.json").name
    'report.json'
    >>> report = isomorph.load_report("report.json")
    >>> report.verdict.value, report.exit_code
    ('divergent', 1)
    >>> print(report.findings[0].cause)
    weight
    """
    from isomorph.store.reports import read_report

    return read_report(Path(path))
