"""A report as text, as a file, and as rows: what the methods of ``Report`` call."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph import registry
from isomorph.core.errors import UsageError
from isomorph.core.protocols import FilesReporter
from isomorph.core.report_formats import BY_SUFFIX
from isomorph.reporters.notebook_cell import notebook_cell
from isomorph.store.atomic import new_file
from isomorph.store.targets import check_target

if TYPE_CHECKING:
    from isomorph.core.protocols import Reporter
    from isomorph.core.report import Finding, Report

__all__ = ["finding_rows", "notebook_cell", "rendered", "report_files", "write_report"]


def rendered(report: Report, format: str) -> str:  # noqa: A002 - the word on the command line
    """The report in one of the formats of ``isomorph check --format``."""
    return registry.reporter(format).render(report)


def write_report(report: Report, path: str | Path, format: str | None) -> Path:  # noqa: A002
    """Write the report, in the format of the suffix if none is named; the path."""
    target = Path(path)
    reporter = registry.reporter(format or _format_of(target))
    texts = report_files(report, reporter, target)
    for file in texts:
        check_target(file)
    for file, text in texts.items():
        with new_file(file) as stream:
            stream.write((text.rstrip("\n") + "\n").encode("utf-8", "surrogatepass"))
    return target


def report_files(report: Report, reporter: Reporter, path: Path) -> dict[Path, str]:
    """The text of each file that a report is written as: mostly one.

    overlay.json becomes overlay.reference.json and overlay.candidate.json.
    """
    if not isinstance(reporter, FilesReporter):
        return {path: reporter.render(report)}
    return {
        path.with_name(f"{path.stem}.{word}{path.suffix}"): text
        for word, text in reporter.render_files(report).items()
    }


def finding_rows(report: Report) -> list[dict[str, Any]]:
    """One flat row for each finding, all with the same keys."""
    return [_row(finding) for finding in report.findings]


def _format_of(path: Path) -> str:
    found = BY_SUFFIX.get(path.suffix.lower())
    if found is None:
        raise UsageError(
            "BAD_OPTION",
            f"the suffix of {path.name!r} names no format of a report",
            why=f"known: {', '.join(BY_SUFFIX)}",
            fix=f'save({str(path)!r}, format="json")',
        )
    return found


def _row(finding: Finding) -> dict[str, Any]:
    source = finding.source
    place = source.file if source is not None else None
    if source is not None and place and source.line:
        place = f"{place}:{source.line}"
    return {
        "rank": finding.rank,
        "code": finding.code,
        "cause": finding.cause,
        "status": str(finding.status),
        "effect": str(finding.effect),
        "summary": finding.summary,
        "node": finding.node,
        "reference_nodes": ", ".join(finding.reference_nodes) or None,
        "tensors": ", ".join(finding.tensors) or None,
        "own_error": finding.local_error,
        "inherited_error": finding.inherited_error,
        "share": finding.share,
        "source": place,
        "module": source.module if source is not None else None,
        "fix": finding.fix,
    }
