"""``isomorph fix``: a copy of the candidate that is the reference's function again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from isomorph.cli import options
from isomorph.cli.option_groups import InputFlags, LoadFlags, PairFlags, options_of
from isomorph.cli.parameters import Argument, Option


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
    format_: Annotated[
        str, Option("--format", metavar="text|json", help="How to describe what was done.")
    ] = "text",
    report: Annotated[
        Path | None,
        Option("--report", metavar="FILE", help="Write that there instead of on the terminal."),
    ] = None,
    keep_float: Annotated[
        str | None,
        Option(
            "--keep-float",
            metavar="N|auto",
            help="Keep the worst N nodes of a quantized candidate in float, or as few as needed.",
        ),
    ] = None,
    input_flags: InputFlags,
    budget: options.Budget = None,
    pair_flags: PairFlags,
    load_flags: LoadFlags,
    debug: options.Debug = False,
) -> int:
    """Repair the candidate by patches that are proven by measuring.

    They touch the faulty nodes alone, and hold on the given inputs and on fresh ones.

    Exit codes: 0 repaired and verified, or nothing to repair; 1 not repaired, nothing written;
    2 wrong use or unreadable model, 3 unknown, 4 refused.
    """
    from isomorph import api
    from isomorph.cli.output import write
    from isomorph.cli.progress import Progress
    from isomorph.core.errors import UsageError
    from isomorph.core.escaping import printable
    from isomorph.reporters.repair_document import document
    from isomorph.reporters.repair_text import lines
    from isomorph.reporters.textwrap import wrapped

    if format_ not in {"text", "json"}:
        raise UsageError(
            "UNKNOWN_FORMAT", f"fix has no format {format_!r}", fix="--format text or json"
        )
    if keep_float is not None and keep_float != "auto" and not keep_float.isdigit():
        raise UsageError(
            "BAD_COUNT", f"--keep-float {keep_float} is no count", fix="--keep-float 3 or auto"
        )
    with Progress() as progress:
        repair = api.fix(
            reference,
            candidate,
            output=output,
            budget=options.budgets(budget),
            keep_float=keep_float,
            progress=progress,
            **options_of(input_flags, pair_flags, load_flags),
        )
    if format_ == "json":
        from isomorph.reporters.json import as_json

        write(as_json(document(repair)), report)
    else:
        shown = [printable(line, limit=2000) for line in lines(repair, diff=diff)]
        write("\n".join(shown if report is not None else wrapped(shown)), report)
    return repair.exit_code
