"""``isomorph inspect``: what a model file holds."""

from __future__ import annotations

from typing import Annotated

from isomorph.cli import options
from isomorph.cli.parameters import Argument, Option
from isomorph.core.errors import UsageError

FORMATS = ("terminal", "json")


def inspect(
    model: options.ModelWord,
    other: Annotated[
        str | None,
        Argument(metavar="OTHER", help="A second model, to be shown next to the first."),
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
    """What a model holds; of two models, what differs.

    Signatures, attributes that differ and quantization are shown side by side; what the nodes
    compute is for check.
    """
    from isomorph import api
    from isomorph.cli.output import write_result
    from isomorph.cli.output_format import format_of
    from isomorph.reporters import diff_text, model_text
    from isomorph.store.targets import check_target

    format = format_of(format, output, FORMATS)  # noqa: A001 - the word on the command line
    check_target(output, model, other, state)
    if other is not None:
        if nodes:
            raise UsageError("BAD_OPTION", "--nodes lists the nodes of one model, not of two")
        found = api.diff(model, other, trust=trust, in_process=in_process, state=state)
        text = diff_text.as_document(found) if format == "json" else diff_text.as_text(found)
        write_result(text, output)
        return 0
    described = api.inspect(model, trust=trust, in_process=in_process, state=state)
    if format == "json":
        text = model_text.as_document(described)
    else:
        text = model_text.as_text(described, nodes=nodes)
    write_result(text, output)
    return 0
