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
        str, Option("--format", help="terminal or json.")
    ] = "terminal",
    output: Annotated[
        Path | None,
        Option("--output", "-o", metavar="FILE", help="Write the input that was found (.npz)."),
    ] = None,
    debug: options.Debug = False,
) -> int:
    """Search for the input on which two models differ most.

    It is reduced, stored with -o, and checked.

    Exit codes: those of check on the input that was found.
    """
    from dataclasses import replace

    from isomorph import api
    from isomorph.cli.output import write
    from isomorph.cli.progress import Progress
    from isomorph.reporters import stress_text
    from isomorph.reporters.json import as_json
    from isomorph.store.targets import refuse_overwriting

    options.require_choice("--format", format, FORMATS)
    refuse_overwriting(output, reference, candidate, input_flags.inputs, load_flags.state)
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
    write(as_json(bare) if format == "json" else stress_text.as_text(found), None)
    return found.exit_code
