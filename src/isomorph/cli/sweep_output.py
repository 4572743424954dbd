"""What ``isomorph sweep`` writes: results or changes in the format that was asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from isomorph.cli.output import write
from isomorph.core.error_of import error_of
from isomorph.core.errors import UsageError
from isomorph.core.escaping import printable
from isomorph.core.messages import message
from isomorph.core.sweep_limits import SWEEP_PAGES

if TYPE_CHECKING:
    from isomorph.core.sweep import CellResult, Sweep
    from isomorph.core.sweep_changes import SweepChanges

FORMATS = ("terminal", "json", "markdown", "csv", "html", "junit", "sarif")
CHANGES_FORMATS = ("terminal", "json", "markdown", "html")
EXPORTS = {".json": "json", ".csv": "csv", ".md": "markdown", ".parquet": "parquet"}


def check_export(export: Path | None) -> None:
    """Refuse an ending without a format, or one whose package is missing, before the work."""
    if export is None:
        return
    if export.suffix not in EXPORTS:
        raise error_of(
            UsageError, "BAD_OPTION.export", file_name=export.name, known=", ".join(EXPORTS)
        )
    if EXPORTS[export.suffix] == "parquet":
        from isomorph.reporters.sweep_parquet import require_parquet

        require_parquet()


def check_page(format: str, output: Path | None) -> None:  # noqa: A002
    """Refuse a page without a file: the pages of its reports stand in a folder beside it."""
    if format == "html" and output is None:
        raise error_of(UsageError, "BAD_OPTION.sweep_page", name="html")


def write_export(found: Sweep, export: Path) -> None:
    """All rows, in the format of the ending."""
    format = EXPORTS[export.suffix]  # noqa: A001 - the word on the command line
    if format != "parquet":
        write(_rendered(found, format), export)
        return
    from isomorph.reporters.sweep_parquet import as_parquet
    from isomorph.store.atomic import new_file

    with new_file(export) as stream:
        stream.write(as_parquet(found))


def write_sweep(found: Sweep, format: str, output: Path | None) -> None:  # noqa: A002
    """The results; of a page, also those of its reports."""
    if format == "html" and output is not None:
        from isomorph.reporters.sweep_page import as_page

        write(as_page(found, _report_pages(found, output)), output)
    else:
        write(_rendered(found, format), output)
    if output is not None:
        from isomorph.reporters.sweep_text import summary

        written = message("REPORT.written", file=printable(str(output)))
        write(f"{summary(found)}\n{written}", None)


def _rendered(found: Sweep, format: str) -> str:  # noqa: A002
    from isomorph.reporters import sweep_ci, sweep_text
    from isomorph.reporters.json import as_json

    makers: dict[str, Callable[[Sweep], str]] = {
        "json": as_json, "csv": sweep_text.as_csv, "markdown": sweep_text.as_markdown,
        "junit": sweep_ci.as_junit, "sarif": sweep_ci.as_sarif, "terminal": sweep_text.as_text,
    }  # fmt: skip
    return makers[format](found)


def write_changes(found: SweepChanges, format: str, output: Path | None) -> None:  # noqa: A002
    """What changed between two sweeps."""
    from isomorph.reporters import sweep_changes_text
    from isomorph.reporters.json import as_json
    from isomorph.reporters.sweep_page import as_changes_page

    makers: dict[str, Callable[[SweepChanges], str]] = {
        "json": as_json, "markdown": sweep_changes_text.as_markdown, "html": as_changes_page,
        "terminal": sweep_changes_text.as_text,
    }  # fmt: skip
    write(makers[format](found), output)


def _report_pages(found: Sweep, output: Path) -> dict[str, str]:
    """Write the pages of reports beside ``output``; their addresses by the keys of the cells."""
    from isomorph.reporters.html import HtmlReporter
    from isomorph.reporters.sweep_text import FINE
    from isomorph.store.reports import read_report

    with_report = {each.key: each for each in found.cells if each.report}
    ordered = sorted(with_report.values(), key=lambda each: each.outcome in FINE)
    folder = output.with_name(f"{output.stem}_reports")
    pages: dict[str, str] = {}
    for each in ordered[:SWEEP_PAGES]:
        try:
            report = read_report(_report_file(found, each))
        except UsageError:  # a proof, or a report that somebody damaged: the cell links to its row
            continue
        folder.mkdir(exist_ok=True)
        write(HtmlReporter().render(report), folder / f"{each.key}.html")
        pages[each.key] = f"{folder.name}/{each.key}.html"
    return pages


def _report_file(found: Sweep, cell: CellResult) -> Path:
    return Path(found.store) / cell.report
