"""``isomorph report``: a JSON report once more, as a page or in another format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from isomorph.cli import options
from isomorph.cli.parameters import Argument, Option
from isomorph.cli.verbosity import VerbosityFlags
from isomorph.core.error_of import error_of


def report(
    source: Annotated[
        Path, Argument(metavar="REPORT", help="What check wrote with --format json.")
    ],
    *,
    format: options.ReportFormat = None,  # noqa: A002 - the word on the command line
    repair: Annotated[
        Path | None,
        Option("--repair", help="What fix wrote with --format json, to show on the page."),
    ] = None,
    output: options.Output = None,
    verbosity: VerbosityFlags,
    debug: options.Debug = False,
) -> int:
    """Show a report again: as a page, as text, for another tool.

    A page: isomorph report R.json -o page.html.

    Exit codes: 0 shown, 2 unreadable. The verdict decided the exit code of the check.
    """
    from isomorph import registry
    from isomorph.cli.output import refuse_page_on_terminal, show_report, write
    from isomorph.cli.output_format import format_of
    from isomorph.cli.verbosity import adjusted
    from isomorph.core.errors import UsageError
    from isomorph.core.protocols import RepairReporter
    from isomorph.store.reports import read_repair, read_report
    from isomorph.store.targets import check_target

    reporter = registry.reporter(format_of(format, output, registry.names("reporters")))
    reporter = adjusted(reporter, verbosity)
    refuse_page_on_terminal(reporter, output)
    check_target(output, source, repair)
    if repair is None:
        show_report(read_report(source), reporter, output)
        return 0
    if not isinstance(reporter, RepairReporter):
        raise error_of(UsageError, "BAD_OPTION.repair_page")
    write(reporter.render_repair(read_report(source), read_repair(repair)), output)
    return 0
