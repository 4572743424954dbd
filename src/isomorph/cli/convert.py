"""``isomorph convert``: one model and a target, every hop proven."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from isomorph.cli import options
from isomorph.cli.option_groups import InputFlags
from isomorph.cli.parameters import Argument, Option

if TYPE_CHECKING:
    from isomorph.core.conversion import Route


def convert(
    source: Annotated[
        str, Argument(metavar="SRC", help="A model file, or package.module:factory with --trust.")
    ],
    target: Annotated[
        Path, Argument(metavar="DST", help="Where to write: .onnx, .tflite, .xml, or a new folder.")
    ],
    *,
    to: Annotated[
        str | None,
        Option("--to", metavar="FORMAT", help="The target, if the suffix of DST does not name it."),
    ] = None,
    quantize: Annotated[
        str | None,
        Option("--quantize", metavar="WIDTH", help="float16, dynamic, int8 or int16x8."),
    ] = None,
    data: Annotated[
        Path | None,
        Option("--data", help="Real samples: they calibrate int8, and the proof is made on them."),
    ] = None,
    via: Annotated[
        list[str] | None,
        Option("--via", metavar="STOP,…", help="Formats or converters on the way, in their order."),
    ] = None,
    opset: Annotated[
        int | None, Option("--opset", min=1, help="The opset of an ONNX file.")
    ] = None,
    repair: Annotated[
        bool, Option("--repair", help="Repair a faulty hop, as fix does, and go on.")
    ] = False,
    keep: Annotated[
        bool, Option("--keep", help="Write the model even where it is not proven.")
    ] = False,
    plan: Annotated[bool, Option("--plan", help="Only show the routes, the best first.")] = False,
    input_flags: InputFlags,
    dims: options.Sizes = None,
    trust: options.Trust = False,
    state: options.State = None,
    memory: options.Memory = None,
    timeout: options.Timeout = None,
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
    from isomorph.cli.textwrap import wrapped
    from isomorph.core.escaping import printable
    from isomorph.reporters.conversion_text import lines
    from isomorph.reporters.json import as_json

    stops = tuple(stop for word in via or () for stop in word.split(",") if stop)
    options.require_choice("--format", format, ("terminal", "json"))
    if plan:
        routes = api.routes(source, target, to=to, quantize=quantize, via=stops, trust=trust)
        planned = (_planned(route) for route in routes)
        write("\n".join(wrapped(planned)), None)
        return 0
    with Progress() as progress:
        conversion = api.convert(
            source,
            target,
            to=to,
            quantize=quantize,
            data=data,
            via=stops,
            repair=repair,
            keep=keep,
            trust=trust,
            options=api.ConvertOptions(
                opset=opset,
                sizes=options.sizes(dims),
                state=state,
                limits=api.Limits(
                    memory=options.memory_bytes(memory), timeout=options.seconds(timeout)
                ),
            ),
            progress=progress,
            **input_flags.options,
        )
    if format == "json":
        write(as_json(conversion), None)
    else:
        shown = (printable(line, limit=2000) for line in lines(conversion))
        write("\n".join(wrapped(shown)), None)
    return conversion.exit_code


def _planned(route: Route) -> str:
    missing = f"  (not installed: {'; '.join(route.missing)})" if route.missing else ""
    return f"{route.words}{missing}"
