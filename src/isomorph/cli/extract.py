"""``isomorph extract``: the smallest pair of models that still shows the fault."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from isomorph.cli import options
from isomorph.cli.option_groups import InputFlags, LoadFlags, PairFlags, options_of
from isomorph.cli.parameters import Argument, Option


def extract(
    reference: Annotated[str, Argument(metavar="REFERENCE", help="The model to trust.")],
    candidate: Annotated[str, Argument(metavar="CANDIDATE", help="The model to question.")],
    *,
    output: options.Folder,
    node: Annotated[
        str | None,
        Option("--node", metavar="NAME", help="A faulty node; without it, the first one."),
    ] = None,
    report: Annotated[
        Path | None,
        Option("--report", metavar="JSON", help="Take the node from this report's first finding."),
    ] = None,
    input_flags: InputFlags,
    pair_flags: PairFlags,
    load_flags: LoadFlags,
    debug: options.Debug = False,
) -> int:
    """Cut the faulty node out of both models, for a bug report.

    The inputs that reach it come along.

    Exit codes: 0 the part alone shows the fault, 1 it does not, 2 wrong use or no faulty node.
    """
    from isomorph import api
    from isomorph.cli.output import write
    from isomorph.cli.output_format import refuse_file_name
    from isomorph.cli.progress import Progress
    from isomorph.core.escaping import printable
    from isomorph.reporters.extraction_text import lines
    from isomorph.store.targets import refuse_overwriting

    refuse_file_name(output)
    refuse_overwriting(output, reference, candidate, input_flags.inputs, load_flags.state)
    with Progress() as progress:
        found = api.extract(
            reference,
            candidate,
            output=output,
            node=node,
            report=report,
            progress=progress,
            **options_of(input_flags, pair_flags, load_flags),
        )
    write("\n".join(printable(line, limit=2000) for line in lines(found)), None)
    return found.exit_code
