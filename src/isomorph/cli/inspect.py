"""``isomorph inspect``: what a model file holds."""

from __future__ import annotations

from typing import Annotated

from isomorph.cli import options
from isomorph.cli.parameters import Argument, Option
from isomorph.core.errors import UsageError


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
    format: options.Format = "terminal",  # noqa: A002 - the word on the command line
    output: options.Output = None,
    debug: options.Debug = False,
) -> int:
    """What a model holds; of two models, what differs.

    Signatures, attributes that differ and quantization are shown side by side; what the nodes
    compute is for check.
    """
    from isomorph import api
    from isomorph.cli.output import write
    from isomorph.reporters import diff_text, model_text
    from isomorph.store.targets import check_target

    if format not in ("terminal", "json"):
        raise UsageError("UNKNOWN_NAME", f"a model cannot be shown as {format!r}",
                         why="known: json, terminal")  # fmt: skip
    check_target(output, model, other, state)
    if other is not None:
        if nodes:
            raise UsageError("BAD_OPTION", "--nodes lists the nodes of one model, not of two")
        found = api.diff(model, other, trust=trust, in_process=in_process, state=state)
        text = diff_text.as_document(found) if format == "json" else diff_text.as_text(found)
        write(text, output)
        return 0
    described = api.inspect(model, trust=trust, in_process=in_process, state=state)
    if format == "json":
        text = model_text.as_document(described)
    else:
        text = model_text.as_text(described, nodes=nodes)
    write(text, output)
    return 0
