"""``isomorph sweep``: many models in many environments, each cell once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from isomorph.cli import options
from isomorph.cli.parameters import Argument, Option
from isomorph.core.errors import UsageError
from isomorph.core.sweep import EngineName

if TYPE_CHECKING:
    from isomorph.core.sweep import Sweep
    from isomorph.sweeping.sweep import Progressing

FORMATS = ("terminal", "json", "markdown", "csv")
_EXPORTS = (".json", ".csv", ".md")
AGAIN = ("unknown", "error", "divergent", "degraded", "open")


def sweep(
    file: Annotated[
        Path, Argument(metavar="SWEEP.toml", help="The matrix: models, environments, data, seeds.")
    ] = Path("sweep.toml"),
    *,
    store: Annotated[
        Path | None, Option("--store", metavar="DIR", help="Where results are kept.")
    ] = None,
    jobs: Annotated[
        int | None, Option("--jobs", "-j", min=1, help="Cells at a time; usually half the cores.")
    ] = None,
    memory: Annotated[
        str | None, Option("--memory", metavar="SIZE", help="For all cells together, as in 16GiB.")
    ] = None,
    engine: Annotated[
        str, Option("--engine", metavar="NAME", help="local, or ray for the machines of a cluster.")
    ] = EngineName.LOCAL,
    address: Annotated[
        str | None,
        Option(
            "--address",
            metavar="ADDRESS",
            help="A Ray cluster: auto or HOST:PORT. Without it, one is started here.",
        ),
    ] = None,
    shard: Annotated[
        str | None, Option("--shard", metavar="N/COUNT", help="Run one part of the cells.")
    ] = None,
    only: Annotated[
        list[str] | None, Option("--only", metavar="PATTERN", help="Cells, as in 'resnet@*'.")
    ] = None,
    again: Annotated[
        list[str] | None,
        Option("--again", metavar="VERDICT", help="Run cells with this answer once more."),
    ] = None,
    dry: Annotated[bool, Option("--list", help="List the cells and run nothing.")] = False,
    export: Annotated[
        Path | None, Option("--export", metavar="FILE", help="All rows as .json, .csv or .md.")
    ] = None,
    format: Annotated[  # noqa: A002 - the word on the command line
        str | None, Option("--format", help="terminal, json, markdown or csv.")
    ] = None,
    output: options.Output = None,
    debug: options.Debug = False,
) -> int:
    """Check every cell of a matrix once; what is done is not done again.

    Exit codes: the worst of the cells (70, 2, 4, 1, 3, 0); 130 interrupted.
    """
    from isomorph import api
    from isomorph.cli.output import write
    from isomorph.cli.output_format import format_of
    from isomorph.core.escaping import printable
    from isomorph.store.targets import check_target
    from isomorph.sweeping.cell_selection import chosen_cells, planned

    format = options.require_choice(  # noqa: A001 - the word on the command line
        "--format", format_of(format, output, FORMATS), FORMATS
    )
    options.require_choice("--engine", engine, tuple(EngineName))
    for each in again or ():
        options.require_choice("--again", each, AGAIN)
    if export is not None and export.suffix not in _EXPORTS:
        raise UsageError(
            "BAD_OPTION", f"--export {export.name} has no known ending",
            why=f"expected one of: {', '.join(_EXPORTS)}",
        )  # fmt: skip
    for target in (output, export):
        check_target(target, file)
    part = _part(shard)
    if dry:
        cells = chosen_cells(planned(file), part, only or ())
        write("\n".join(printable(each.name) for each in cells), output)
        return 0
    found = api.sweep(
        file, store=store, jobs=jobs, memory=options.memory_bytes(memory), shard=part,
        only=only or (), again=again or (), engine=engine, address=address, on_cell=_show_cell,
    )  # fmt: skip
    if export is not None:
        write(_rendered(found, {".json": "json", ".csv": "csv"}.get(export.suffix, "markdown")),
              export)  # fmt: skip
    write(_rendered(found, format), output)
    return found.exit_code


def _rendered(found: Sweep, format: str) -> str:  # noqa: A002
    from isomorph.reporters import sweep_text
    from isomorph.reporters.json import as_json

    if format == "json":
        return as_json(found)
    if format == "csv":
        return sweep_text.as_csv(found).rstrip("\n")
    return sweep_text.as_markdown(found) if format == "markdown" else sweep_text.as_text(found)


def _part(word: str | None) -> tuple[int, int]:
    if word is None:
        return 1, 1
    match = re.fullmatch(r"(\d+)/(\d+)", word, re.ASCII)
    if match is None:
        raise UsageError("BAD_OPTION", f"--shard {word!r} cannot be read", why="expected 3/8")
    return int(match[1]), int(match[2])


def _show_cell(progress: Progressing) -> None:
    """One line on stderr for each cell that ended, with what is left of the time."""
    import sys
    import time

    from isomorph.core.escaping import printable
    from isomorph.reporters.sweep_text import word

    spent = time.monotonic() - progress.running_since
    left = spent / progress.done * (progress.total - progress.done)
    sys.stderr.write(
        f"isomorph: {progress.done} of {progress.total}, {left:.0f} s left: "
        f"{printable(progress.latest.name)} {word(progress.latest)}\n"
    )
