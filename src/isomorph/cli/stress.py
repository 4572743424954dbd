"""``isomorph stress``: the input on which two models differ most."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from isomorph.cli import options
from isomorph.cli.option_groups import InputFlags, LoadFlags, PairFlags, options_of
from isomorph.cli.parameters import Argument, Option

FORMATS = ("terminal", "json")


def stress(
    reference: Annotated[str, Argument(metavar="REFERENCE", help="The model to trust.")],
    candidate: Annotated[str, Argument(metavar="CANDIDATE", help="The model to stress.")],
    *,
    range_words: options.Range = None,
    data: options.Data = None,
    input_flags: InputFlags,
    pair_flags: PairFlags,
    load_flags: LoadFlags,
    format: Annotated[  # noqa: A002 - the word on the command line
        str | None, Option("--format", help="terminal or json.")
    ] = None,
    output: Annotated[
        Path | None,
        Option("--output", "-o", metavar="FILE", help="Write the input that was found (.npz)."),
    ] = None,
    report: Annotated[
        Path | None,
        Option("--report", metavar="FILE", help="Write the rest to this file; .json is JSON."),
    ] = None,
    debug: options.Debug = False,
) -> int:
    """Search for the input on which two models differ most.

    It is reduced, stored with -o, and checked.

    Exit codes: those of check on the input that was found.
    """
    from dataclasses import replace

    from isomorph import api
    from isomorph.cli.output import write_result
    from isomorph.cli.output_format import format_of
    from isomorph.cli.progress import Progress
    from isomorph.reporters import stress_text
    from isomorph.reporters.json import as_json
    from isomorph.store.targets import check_target, refuse_overwriting

    format = format_of(format, report, FORMATS)  # noqa: A001 - the word on the command line
    refuse_overwriting(output, reference, candidate, input_flags.inputs, load_flags.state)
    check_target(report, reference, candidate)
    with Progress() as progress:
        found = api.stress(
            reference,
            candidate,
            ranges=options.ranges(range_words),
            data=data,
            output=output,
            progress=progress,
            **options_of(input_flags, pair_flags, load_flags),
        )
    bare = replace(found, inputs={})
    text = stress_text.as_text(found)
    written = as_json(bare) if format == "json" else text
    write_result(written, report, text.partition("\n")[0])
    return found.exit_code
