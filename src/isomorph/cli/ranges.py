"""``isomorph ranges``: which numbers the tensors of a model can hold."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from isomorph.cli import options
from isomorph.cli.option_groups import InputFlags, LoadFlags, RuntimeFlags, options_of
from isomorph.cli.parameters import Option

FORMATS = ("terminal", "json", "markdown")


def ranges(
    model: options.ModelWord,
    *,
    range_words: options.Range = None,
    data: options.Data = None,
    to: Annotated[
        str | None, Option("--to", metavar="TYPE", help="float16, bfloat16 or int8.")
    ] = None,
    input_flags: InputFlags,
    everything: Annotated[bool, Option("--all", help="Show every tensor.")] = False,
    runtime_flags: RuntimeFlags,
    load_flags: LoadFlags,
    overflow: Annotated[
        Path | None,
        Option("--write-input", metavar="FILE", help="Write the input that overflows (.npz)."),
    ] = None,
    format: Annotated[  # noqa: A002 - the word on the command line
        str | None, Option("--format", help="terminal, json or markdown.")
    ] = None,
    output: options.Output = None,
    debug: options.Debug = False,
) -> int:
    """Bound every tensor for all inputs of given ranges.

    Each is proven safe, overflows on an input that is shown, or is open.

    Exit codes: 0 all proven safe, 1 an overflow is shown, 2 wrong use, 3 some are open.
    """
    from dataclasses import replace

    from isomorph import api
    from isomorph.cli.output import write_result
    from isomorph.cli.output_format import format_of
    from isomorph.cli.progress import Progress
    from isomorph.reporters import ranges_text
    from isomorph.reporters.json import as_json
    from isomorph.store.input_files import write_arrays
    from isomorph.store.targets import check_target, refuse_overwriting

    format = format_of(format, output, FORMATS)  # noqa: A001 - the word on the command line
    check_target(output, model, data, input_flags.inputs)
    refuse_overwriting(overflow, model, input_flags.inputs, load_flags.state)
    with Progress() as progress:
        found = api.ranges(
            model,
            ranges=options.ranges(range_words),
            data=data,
            to=to,
            progress=progress,
            **options_of(input_flags, runtime_flags, load_flags),
        )
    if overflow is not None and found.overflows:
        write_arrays(overflow, found.overflows[0].inputs)
        shown = replace(found.overflows[0], file=str(overflow))
        found = replace(found, overflows=(shown, *found.overflows[1:]))
    if format == "json":
        bare = tuple(replace(each, inputs={}) for each in found.overflows)
        text = as_json(replace(found, overflows=bare))
    elif format == "markdown":
        text = ranges_text.as_markdown(found, everything=everything)
    else:
        text = ranges_text.as_text(found, everything=everything)
    write_result(text, output, ranges_text.headline(found))
    return found.exit_code
