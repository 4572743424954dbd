"""``isomorph sweep``: many models in many environments, each cell once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from isomorph.cli import options
from isomorph.cli.parameters import Argument, Option
from isomorph.core.error_of import error_of
from isomorph.core.errors import UsageError
from isomorph.core.messages import message
from isomorph.core.sweep import EngineName

AGAIN = ("unknown", "error", "divergent", "degraded", "open", "unrepaired")


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
    compare: Annotated[
        Path | None,
        Option(
            "--compare",
            metavar="STORE",
            help="Run nothing; show what changed since the sweep of this store.",
        ),
    ] = None,
    export: Annotated[
        Path | None,
        Option("--export", metavar="FILE", help="All rows as .json, .csv, .md or .parquet."),
    ] = None,
    format: Annotated[  # noqa: A002 - the word on the command line
        str | None, Option("--format", help="terminal, json, markdown, csv, html, junit or sarif.")
    ] = None,
    output: options.Output = None,
    debug: options.Debug = False,
) -> int:
    """Check many models in many environments; cells that are done are not done again.

    Exit codes: the worst of the cells (70, 2, 4, 1, 3, 0); 130 interrupted. With --compare, 1
    where a cell is worse, lost its answer, or is new and not fine.
    """
    from isomorph import api
    from isomorph.cli import sweep_output
    from isomorph.cli.output import write
    from isomorph.cli.output_format import format_of
    from isomorph.cli.sweep_progress import SweepProgress
    from isomorph.core.escaping import printable
    from isomorph.store.targets import check_target
    from isomorph.sweeping.cell_selection import chosen_cells, planned

    formats = sweep_output.FORMATS if compare is None else sweep_output.CHANGES_FORMATS
    format = format_of(format, output, formats)  # noqa: A001 - the word on the command line
    options.require_choice("--engine", engine, tuple(EngineName))
    for each in again or ():
        options.require_choice("--again", each, AGAIN)
    sweep_output.check_export(export)
    sweep_output.check_page(format, output)
    for target in (output, export):
        check_target(target, file)
    if compare is not None:
        from isomorph.sweeping.compare import compare_stores

        after = store if store is not None else Path(planned(file).store)
        changes = compare_stores(compare, after)
        sweep_output.write_changes(changes, format, output)
        return changes.exit_code
    part = _part(shard)
    if dry:
        cells = chosen_cells(planned(file), part, only or ())
        write("\n".join(printable(each.name) for each in cells), output)
        return 0
    with SweepProgress() as progress:
        found = api.sweep(
            file, store=store, jobs=jobs, memory=options.memory_bytes(memory), shard=part,
            only=only or (), again=again or (), engine=engine, address=address, on_cell=progress,
        )  # fmt: skip
    if export is not None:
        sweep_output.write_export(found, export)
    sweep_output.write_sweep(found, format, output)
    return found.exit_code


def _part(word: str | None) -> tuple[int, int]:
    if word is None:
        return 1, 1
    match = re.fullmatch(r"(\d+)/(\d+)", word, re.ASCII)
    if match is None:
        raise error_of(
            UsageError,
            "BAD_OPTION.word",
            flag="--shard",
            word=word,
            expected=message("EXPECTED.shard"),
        )
    return int(match[1]), int(match[2])
