"""``isomorph fix``: a copy of the candidate that is the reference's function again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from isomorph.cli import options
from isomorph.cli.option_groups import InputFlags, LoadFlags, PairFlags, RepairFlags, options_of
from isomorph.cli.parameters import Argument, Option

if TYPE_CHECKING:
    from isomorph.core.repair import Repair

FORMATS = ("terminal", "json")


def fix(
    reference: Annotated[
        str,
        Argument(
            metavar="REFERENCE",
            help="The model to trust, or a JSON report: its pair, as it was checked.",
        ),
    ],
    candidate: Annotated[
        str | None,
        Argument(
            metavar="CANDIDATE",
            help="The model to repair; it is never written to. A report names it.",
            show_default=False,
        ),
    ] = None,
    *,
    output: Annotated[
        Path | None,
        Option("--output", "-o", metavar="FIXED", help="Write the verified repair to this file."),
    ] = None,
    diff: Annotated[bool, Option("--diff", help="Show every single edit.")] = False,
    format: Annotated[  # noqa: A002 - the word on the command line
        str | None, Option("--format", help="terminal or json: how to describe what was done.")
    ] = None,
    report: Annotated[
        Path | None,
        Option("--report", metavar="FILE", help="Write that to this file; .json is JSON."),
    ] = None,
    repair_flags: RepairFlags,
    input_flags: InputFlags,
    pair_flags: PairFlags,
    load_flags: LoadFlags,
    debug: options.Debug = False,
) -> int:
    """Repair the candidate, and measure that the repair is right.

    They touch the faulty nodes alone, and hold on the given inputs and on fresh ones.

    Exit codes: 0 repaired and verified, or nothing to repair; 1 not repaired, nothing written;
    2 wrong use or unreadable model, 3 unknown, 4 refused.
    """
    from isomorph import api
    from isomorph.cli.output import write_result
    from isomorph.cli.output_format import format_of
    from isomorph.cli.progress import Progress
    from isomorph.reporters.repair_text import lines
    from isomorph.store.targets import check_target

    usual = "terminal" if format == "text" else format  # as it was called in earlier scripts
    format = format_of(usual, report, FORMATS)  # noqa: A001 - the word on the command line
    check_target(report, reference, candidate)
    stated = options_of(repair_flags, input_flags, pair_flags, load_flags)
    with Progress() as progress:
        repair = api.fix(reference, candidate, output=output, progress=progress, **stated)
    headline = next(lines(repair))
    if format == "json":
        from isomorph.reporters.json import as_json
        from isomorph.reporters.repair_document import document

        write_result(as_json(document(repair)), report, headline)
    else:
        write_result(_text(repair, diff=diff, wrap=report is None), report, headline)
    return repair.exit_code


def _text(repair: Repair, *, diff: bool, wrap: bool) -> str:
    from isomorph.core.escaping import printable
    from isomorph.reporters.repair_text import lines
    from isomorph.reporters.textwrap import wrapped

    shown = [printable(line, limit=2000) for line in lines(repair, diff=diff)]
    return "\n".join(wrapped(shown) if wrap else shown)
