"""``isomorph convert``: one model and a target, every hop proven."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from isomorph.cli import options
from isomorph.cli.option_groups import (
    ConvertLoadFlags,
    InputFlags,
    RouteFlags,
    TargetFlags,
    options_of,
)
from isomorph.cli.parameters import Argument, Option


def convert(
    source: Annotated[
        str, Argument(metavar="SRC", help="A model file, or package.module:factory with --trust.")
    ],
    target: Annotated[
        Path, Argument(metavar="DST", help="Where to write: .onnx, .tflite, .xml, or a new folder.")
    ],
    *,
    target_flags: TargetFlags,
    route_flags: RouteFlags,
    plan: Annotated[bool, Option("--plan", help="Only show the routes, the best first.")] = False,
    input_flags: InputFlags,
    load_flags: ConvertLoadFlags,
    format: options.Format = "terminal",  # noqa: A002 - the word on the command line
    debug: options.Debug = False,
) -> int:
    """Convert by the best route there is; every hop is proven.

    Each is compared with the first model, so that errors cannot cancel from hop to hop.

    Exit codes: those of check for the last hop: 0 proven, 1 divergent, 2 wrong use, 3 no converter
    could, or it could not be judged, 4 refused. Nothing is written that is not proven.
    """
    from isomorph import api
    from isomorph.cli.output import write
    from isomorph.cli.progress import Progress
    from isomorph.core.escaping import printable
    from isomorph.reporters.conversion_text import lines, route_lines
    from isomorph.reporters.json import as_json
    from isomorph.reporters.textwrap import wrapped

    options.require_choice("--format", format, ("terminal", "json"))
    if plan:
        found = api.routes(
            source,
            target,
            trust=load_flags.trust,
            via=options.separated(route_flags.via),
            **target_flags.options,
        )
        write("\n".join(wrapped(route_lines(found))), None)
        return 0
    stated = options_of(target_flags, route_flags, input_flags, load_flags)
    with Progress() as progress:
        conversion = api.convert(source, target, progress=progress, **stated)
    if format == "json":
        write(as_json(conversion), None)
    else:
        shown = (printable(line, limit=2000) for line in lines(conversion))
        write("\n".join(wrapped(shown)), None)
    return conversion.exit_code
