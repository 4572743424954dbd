"""``isomorph lint``: what a conversion will lose or break, seen without running the model."""

from __future__ import annotations

from typing import Annotated

from isomorph.cli import options
from isomorph.cli.parameters import Option

FORMATS = ("terminal", "json", "sarif", "github")


def lint(
    model: options.ModelWord,
    *,
    to: Annotated[
        str | None, Option("--to", metavar="FORMAT", help="The format it is to be converted to.")
    ] = None,
    quantize: options.Quantize = None,
    ignore: Annotated[
        list[str] | None,
        Option("--ignore", metavar="CODE,…", help="Codes or checks to leave out."),
    ] = None,
    range_words: options.Range = None,
    data: options.Data = None,
    inputs: options.Inputs = None,
    trust: options.Trust = False,
    state: options.State = None,
    format: Annotated[  # noqa: A002 - the word on the command line
        str | None, Option("--format", help="terminal, json, sarif or github.")
    ] = None,
    output: options.Output = None,
    debug: options.Debug = False,
) -> int:
    """Find what stands in the way of a conversion, without running the model.

    Operators, types, axes, modes, ranges, names. With --range or --data, every tensor of a model
    that is to become float16 is bounded.

    Exit codes: 0 no errors, 1 errors, 2 wrong use or unreadable model, 4 refused.
    """
    import json

    from isomorph import api
    from isomorph.cli.output import write_result
    from isomorph.cli.output_format import format_of
    from isomorph.cli.progress import Progress
    from isomorph.core.escaping import printable
    from isomorph.reporters import lint_formats
    from isomorph.reporters.json import as_json
    from isomorph.reporters.textwrap import wrapped
    from isomorph.store.targets import check_target

    format = format_of(format, output, FORMATS)  # noqa: A001 - the word on the command line
    check_target(output, model, inputs)
    with Progress() as progress:
        found = api.lint(
            model,
            to=to,
            quantize=quantize,
            ignore=options.separated(ignore),
            ranges=options.ranges(range_words),
            data=data,
            inputs=inputs,
            trust=trust,
            state=state,
            progress=progress,
        )
    if format == "json":
        text = as_json(found)
    elif format == "sarif":
        text = json.dumps(lint_formats.sarif(found), indent=2, sort_keys=True)
    else:
        annotated = format == "github"
        rendered = lint_formats.github(found) if annotated else lint_formats.lines(found)
        shown = (printable(line, limit=2000) for line in rendered)
        text = "\n".join(shown if annotated or output is not None else wrapped(shown))
    *_, headline = lint_formats.lines(found)
    write_result(text, output, headline)
    return found.exit_code
