"""``isomorph diff``: what differs between two models by their structure, or between two reports."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from isomorph.cli import options
from isomorph.cli.parameters import Argument, Option
from isomorph.core.error_of import error_of
from isomorph.core.errors import UsageError

if TYPE_CHECKING:
    from isomorph.core.model_diff import ModelDiff
    from isomorph.core.report_diff import ReportDiff

_FORMATS = ("html", "json", "terminal")


def diff(
    reference: Annotated[
        str, Argument(metavar="REFERENCE", help="A model in any format, or a JSON report.")
    ],
    candidate: Annotated[
        str, Argument(metavar="CANDIDATE", help="A model in any format, or a later JSON report.")
    ],
    *,
    verbose: Annotated[bool, Option("--verbose", "-v", help="List what is the same, too.")] = False,
    trust: options.Trust = False,
    state: options.State = None,
    in_process: options.InProcess = False,
    format: Annotated[  # noqa: A002 - the word on the command line
        str | None,
        Option("--format", help="terminal, json or html; without it, by the output's suffix."),
    ] = None,
    output: options.Output = None,
    debug: options.Debug = False,
) -> int:
    """What differs between two models by their structure, or between two reports.

    Neither model is run. Of two reports: what changed between the two checks.

    Exit codes: 0 nothing differs, 1 something does, 2 wrong use or an unreadable file.
    """
    from isomorph import api
    from isomorph.cli.output import write_result
    from isomorph.cli.output_format import format_of
    from isomorph.store.targets import check_target

    chosen = format_of(format, output, _FORMATS)
    if chosen == "html" and output is None and sys.stdout.isatty():
        raise error_of(UsageError, "BAD_OPTION.diff_page", name="html")
    check_target(output, reference, candidate, state)
    found = api.diff(reference, candidate, trust=trust, in_process=in_process, state=state)
    first, second, *_ = [*_rendered(found, "terminal", verbose=False).splitlines(), "", ""]
    headline = f"{first}: {second.strip()}" if second else first
    write_result(_rendered(found, chosen, verbose=verbose), output, headline)
    return found.exit_code


def _rendered(found: ModelDiff | ReportDiff, chosen: str, *, verbose: bool) -> str:
    from isomorph.core.model_diff import ModelDiff
    from isomorph.reporters import diff_text, report_diff_text
    from isomorph.reporters.json import as_json

    if chosen == "json":
        return as_json(found)
    if chosen == "html":
        from isomorph.web import diff_page

        return diff_page(as_json(found, compact=True))
    if isinstance(found, ModelDiff):
        return diff_text.as_text(found, verbose=verbose)
    return report_diff_text.as_text(found, verbose=verbose)
