"""``isomorph trace``: record a run here, to be compared elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from isomorph.cli import options
from isomorph.cli.option_groups import InputFlags, LoadFlags, RuntimeFlags, options_of
from isomorph.cli.parameters import Option

if TYPE_CHECKING:
    from isomorph.core.recording import Record


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
    from isomorph.cli.progress import Progress
    from isomorph.core.escaping import printable
    from isomorph.store.targets import refuse_overwriting

    refuse_overwriting(output, model, input_flags.inputs, load_flags.state)
    with Progress() as progress:
        record = api.trace(
            model,
            output=output,
            oracle=oracle,
            progress=progress,
            **options_of(input_flags, runtime_flags, load_flags),
        )
    write("\n".join(printable(line, limit=2000) for line in lines(record, output)), None)
    return 0


def lines(record: Record, output: Path) -> list[str]:
    """What was recorded, and what can be done with it."""
    environment = record.run.environment
    place = f"{environment.runtime} {environment.version} on {environment.device}"
    oracle = "with its float64 oracle" if record.oracle is not None else "without an oracle"
    count = len(record.run.tensors)
    return [
        f"recorded {count} tensors of {record.model.location} in {place}, {oracle}",
        *(f"note: {note}" for note in record.notes),
        f"compare it: isomorph check {output} MODEL, or: isomorph check MODEL {output}",
    ]
