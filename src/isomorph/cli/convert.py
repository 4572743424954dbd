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

FORMATS = ("terminal", "json")


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
    format: Annotated[  # noqa: A002 - the word on the command line
        str | None, Option("--format", help="terminal or json: how to describe what was done.")
    ] = None,
    report: Annotated[
        Path | None,
        Option("--report", metavar="FILE", help="Write that to this file; .json is JSON."),
    ] = None,
    debug: options.Debug = False,
) -> int:
    """Convert a model to another format, and check every step.

    Each is compared with the first model, so that errors cannot cancel from hop to hop.

    Exit codes: those of check for the last hop: 0 proven, 1 divergent, 2 wrong use, 3 no converter
    could, or it could not be judged, 4 refused. Nothing is written that is not proven.
    """
    from isomorph import api
    from isomorph.cli.output import write, write_result
    from isomorph.cli.output_format import format_of
    from isomorph.cli.progress import Progress
    from isomorph.core.escaping import printable
    from isomorph.reporters.conversion_text import lines, route_lines
    from isomorph.reporters.json import as_json
    from isomorph.reporters.textwrap import wrapped
    from isomorph.store.targets import check_target

    format = format_of(format, report, FORMATS)  # noqa: A001 - the word on the command line
    check_target(report, source)
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
        text = as_json(conversion)
    else:
        shown = (printable(line, limit=2000) for line in lines(conversion))
        text = "\n".join(shown if report is not None else wrapped(shown))
    write_result(text, report, next(lines(conversion)))
    return conversion.exit_code
