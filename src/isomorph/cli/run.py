"""``isomorph run``: what a model computes, at its outputs or at every tensor."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from isomorph.cli import options
from isomorph.cli.option_groups import InputFlags, LoadFlags, RuntimeFlags, options_of
from isomorph.cli.parameters import Option
from isomorph.core.messages import message

if TYPE_CHECKING:
    from isomorph.core.trace import Trace

_ARRAYS = (".npz", ".safetensors")
"""Suffixes of files that hold the arrays alone."""


def run(
    model: options.ModelWord,
    *,
    input_flags: InputFlags,
    fetch: Annotated[
        list[str] | None, Option("--fetch", metavar="TENSOR", help="Any tensor; repeatable.")
    ] = None,
    everything: Annotated[
        bool, Option("--all", help="Every tensor, not the outputs only.")
    ] = False,
    runtime_flags: RuntimeFlags,
    load_flags: LoadFlags,
    output: Annotated[
        Path | None,
        Option("--output", "-o", help="Write arrays: .npz, .safetensors, or a folder for a trace."),
    ] = None,
    debug: options.Debug = False,
) -> int:
    """Run a model and show what came out; keep it with --output."""
    from isomorph import api
    from isomorph.cli.output import write
    from isomorph.cli.output_format import refuse_file_name
    from isomorph.cli.progress import Progress
    from isomorph.cli.provider_code import provider_code
    from isomorph.core.escaping import printable
    from isomorph.reporters.trace_text import as_text
    from isomorph.store.targets import refuse_overwriting

    if output is not None and output.suffix not in _ARRAYS:
        refuse_file_name(output)
    refuse_overwriting(output, model, input_flags.inputs, load_flags.state)
    notes: tuple[str, ...] = ()
    with Progress() as progress:
        trace = api.run(
            model,
            fetch=tuple(fetch or ()),
            everything=everything,
            progress=progress,
            **options_of(input_flags, runtime_flags, load_flags),
        )
        if output is not None:
            progress("writing", str(output))
            notes = keep(trace, output)
    lines = [as_text(trace), *(f"note: {printable(note)}" for note in notes)]
    if output is not None:
        lines.append(message("REPORT.written", file=printable(str(output))))
    write("\n".join(lines), None)
    return provider_code(trace.environment.facts)


def keep(trace: Trace, output: Path) -> tuple[str, ...]:
    """A file of arrays, or, where the path has no suffix of one, a folder with the whole trace.

    The notes describe what could not be kept as it was.
    """
    if output.suffix in _ARRAYS:
        from isomorph.store.input_files import write_arrays

        return write_arrays(output, trace.tensors)
    from isomorph.store.traces import save

    save(trace, output)
    return ()
