"""``isomorph fix``: a copy of the candidate that is the reference's function again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from isomorph.cli import options
from isomorph.cli.option_groups import InputFlags, LoadFlags, PairFlags, RepairFlags, options_of
from isomorph.cli.parameters import Argument, Option

if TYPE_CHECKING:
    from isomorph.core.repair import Repair


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
    repair_flags: RepairFlags,
    input_flags: InputFlags,
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

    if format_ not in {"text", "json"}:
        raise UsageError(
            "UNKNOWN_FORMAT", f"fix has no format {format_!r}", fix="--format text or json"
        )
    stated = options_of(repair_flags, input_flags, pair_flags, load_flags)
    with Progress() as progress:
        repair = api.fix(reference, candidate, output=output, progress=progress, **stated)
    if format_ == "json":
        from isomorph.reporters.json import as_json
        from isomorph.reporters.repair_document import document

        write(as_json(document(repair)), report)
    else:
        write(_text(repair, diff=diff, wrap=report is None), report)
    return repair.exit_code


def _text(repair: Repair, *, diff: bool, wrap: bool) -> str:
    from isomorph.core.escaping import printable
    from isomorph.reporters.repair_text import lines
    from isomorph.reporters.textwrap import wrapped

    shown = [printable(line, limit=2000) for line in lines(repair, diff=diff)]
    return "\n".join(wrapped(shown) if wrap else shown)
