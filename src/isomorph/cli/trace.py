"""``isomorph trace``: record a run here, to be compared elsewhere."""

from __future__ import annotations

from typing import Annotated

from isomorph.cli import options
from isomorph.cli.option_groups import InputFlags, LoadFlags, RuntimeFlags, options_of
from isomorph.cli.parameters import Option


def trace(
    model: options.ModelWord,
    *,
    output: options.Folder,
    input_flags: InputFlags,
    runtime_flags: RuntimeFlags,
    oracle: Annotated[
        bool,
        Option("--oracle/--no-oracle", help="Record the float64 oracle and its budget, too."),
    ] = True,
    load_flags: LoadFlags,
    debug: options.Debug = False,
) -> int:
    """Record a run with all its tensors, to compare it elsewhere.

    A trace may stand in the place of either model of a check, on any machine:
    isomorph check DIR MODEL.
    """
    from isomorph import api
    from isomorph.cli.output import write
    from isomorph.cli.output_format import refuse_file_name
    from isomorph.cli.progress import Progress
    from isomorph.cli.provider_code import provider_code
    from isomorph.core.escaping import printable
    from isomorph.reporters.trace_text import record_lines
    from isomorph.store.targets import refuse_overwriting

    refuse_file_name(output)
    refuse_overwriting(output, model, input_flags.inputs, load_flags.state)
    with Progress() as progress:
        record = api.trace(
            model,
            output=output,
            oracle=oracle,
            progress=progress,
            **options_of(input_flags, runtime_flags, load_flags),
        )
    write("\n".join(printable(line, limit=2000) for line in record_lines(record, output)), None)
    return provider_code(record.run.environment.facts)
