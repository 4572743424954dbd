"""``isomorph inspect``: what a model file holds."""

from __future__ import annotations

from typing import Annotated

from isomorph.cli import options
from isomorph.cli.parameters import Argument, Option
from isomorph.core.error_of import error_of
from isomorph.core.errors import UsageError

FORMATS = ("terminal", "json")


def inspect(
    model: options.ModelWord,
    other: Annotated[
        str | None,
        Argument(metavar="OTHER", help="Not taken: isomorph diff compares two models."),
    ] = None,
    *,
    nodes: Annotated[bool, Option("--nodes", help="List every node, with its source.")] = False,
    trust: options.Trust = False,
    state: options.State = None,
    in_process: options.InProcess = False,
    format: Annotated[  # noqa: A002 - the word on the command line
        str | None, Option("--format", help="terminal or json.")
    ] = None,
    output: options.Output = None,
    debug: options.Debug = False,
) -> int:
    """Show what a model file holds: inputs, outputs, operators, weights.

    Its signature, metadata and quantization; with --nodes, every node.
    """
    from isomorph import api
    from isomorph.cli.output import write_result
    from isomorph.cli.output_format import format_of
    from isomorph.reporters import model_text
    from isomorph.store.targets import check_target

    format = format_of(format, output, FORMATS)  # noqa: A001 - the word on the command line
    if other is not None:
        raise error_of(UsageError, "BAD_OPTION.inspect_two", model=model, other=other)
    check_target(output, model, state)
    described = api.inspect(model, trust=trust, in_process=in_process, state=state)
    if format == "json":
        text = model_text.as_document(described)
    else:
        text = model_text.as_text(described, nodes=nodes)
    write_result(text, output)
    return 0
