"""``isomorph doctor``: what is installed here, and what to install for what is missing."""

from __future__ import annotations

from typing import Annotated

from isomorph.cli import options
from isomorph.cli.parameters import Option

FORMATS = ("terminal", "json")


def doctor(
    imports: Annotated[
        bool,
        Option("--import", help="Import every package in a process of its own; takes longer."),
    ] = False,
    verbose: Annotated[
        bool, Option("--verbose", "-v", help="List every package, extension and command.")
    ] = False,
    format: Annotated[  # noqa: A002 - the word on the command line
        str | None, Option("--format", help="terminal or json.")
    ] = None,
    output: options.Output = None,
    debug: options.Debug = False,
) -> int:
    """What is installed, does it work, what to install for what is missing.

    Exit codes: 0 all that is installed works, 3 something that is installed does not.
    """
    from isomorph.api.doctor import doctor as examine
    from isomorph.cli.output import write_result
    from isomorph.cli.output_format import format_of
    from isomorph.cli.progress import Progress
    from isomorph.core.installation import InstallationStatus
    from isomorph.reporters.doctor_text import as_text
    from isomorph.reporters.json import as_json
    from isomorph.store.targets import check_target

    format = format_of(format, output, FORMATS)  # noqa: A001 - the word on the command line
    check_target(output)
    with Progress() as progress:
        found = examine(progress, imports=imports)
    text = as_json(found) if format == "json" else as_text(found, imported=imports, verbose=verbose)
    write_result(text, output)
    return 3 if any(each.status is InstallationStatus.BROKEN for each in found) else 0
