"""``isomorph report``: a JSON report once more, as a page or in another format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from isomorph.cli import words

BY_SUFFIX = {
    ".html": "html",
    ".htm": "html",
    ".json": "json",
    ".xml": "junit",
    ".sarif": "sarif",
    ".md": "markdown",
}


def report(
    source: Annotated[
        Path, Argument(metavar="REPORT", help="What check wrote with --format json.")
    ],
    *,
    format: Annotated[  # noqa: A002 - the word on the command line
        str | None,
        Option("--format", help="html, junit, sarif, …; without it, by the output's suffix."),
    ] = None,
    output: words.Output = None,
    debug: words.Debug = False,
) -> int:
    """Show a report again: as a page (-o page.html), on the terminal, or for another tool.

    Exit codes: 0 shown, 2 unreadable. The verdict decided the exit code of the check.
    """
    from isomorph import registry
    from isomorph.cli.output import check_target, show_report
    from isomorph.store.reports import read_report

    suffix = output.suffix.lower() if output is not None else ""
    reporter = registry.reporter(format or BY_SUFFIX.get(suffix, "terminal"))
    check_target(output, source)
    show_report(read_report(source), reporter, output)
    return 0
