"""``isomorph prove``: equality for every input of some shapes, or what stands in its way."""

from __future__ import annotations

from typing import Annotated

from isomorph.cli import options
from isomorph.cli.option_groups import InputFlags, LoadFlags, PairFlags, options_of
from isomorph.cli.parameters import Argument, Option

FORMATS = ("terminal", "json", "html")


def prove(
    reference: Annotated[str, Argument(metavar="REFERENCE", help="The model to trust.")],
    candidate: Annotated[str, Argument(metavar="CANDIDATE", help="The model to question.")],
    *,
    input_flags: InputFlags,
    pair_flags: PairFlags,
    load_flags: LoadFlags,
    format: Annotated[  # noqa: A002 - the word on the command line
        str | None, Option("--format", help="terminal, json or html.")
    ] = None,
    output: options.Output = None,
    debug: options.Debug = False,
) -> int:
    """Are these two models the same function for every input of these shapes?

    In real arithmetic; what is not proven is open, which does not mean that it differs.

    Exit codes: 0 every output is proven, 3 not every one, 2 wrong use or unreadable model,
    4 refused.
    """
    from isomorph import api, registry
    from isomorph.cli.output import refuse_page_on_terminal, write_result
    from isomorph.cli.output_format import format_of
    from isomorph.cli.progress import Progress
    from isomorph.core.escaping import printable
    from isomorph.reporters.html import HtmlReporter
    from isomorph.reporters.json import as_json
    from isomorph.reporters.proof_text import lines
    from isomorph.reporters.textwrap import wrapped
    from isomorph.store.targets import check_target

    format = format_of(format, output, FORMATS)  # noqa: A001 - the word on the command line
    if format == "html":
        refuse_page_on_terminal(registry.reporter(format), output)
    check_target(output, reference, candidate, input_flags.inputs, load_flags.state)
    with Progress() as progress:
        found = api.prove(
            reference,
            candidate,
            progress=progress,
            **options_of(input_flags, pair_flags, load_flags),
        )
    if format == "json":
        text = as_json(found)
    elif format == "html":
        text = HtmlReporter().render_proof(found)
    else:
        shown = (printable(line, limit=2000) for line in lines(found))
        text = "\n".join(shown if output is not None else wrapped(shown))
    write_result(text, output, next(lines(found)))
    return found.exit_code
