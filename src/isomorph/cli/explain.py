"""``isomorph explain``: what a cause or a code means, how it is recognized, what to do."""

from __future__ import annotations

from typing import Annotated

from isomorph.cli import options
from isomorph.cli.parameters import Argument, Option


def explain(
    word: Annotated[
        str | None, Argument(metavar="CAUSE|CODE", help="A word of a report: attribute, TIMEOUT.")
    ] = None,
    *,
    every: Annotated[bool, Option("--list", help="Every word with its first sentence.")] = False,
    debug: options.Debug = False,
) -> int:
    """What a cause or a code means, and what to do about it.

    Without a word, every word with its first sentence.

    Exit codes: 0 explained, 2 an unknown word.
    """
    from isomorph import api
    from isomorph.cli.output import write
    from isomorph.reporters.explanation_text import index_line, lines

    if every or word is None:
        write("\n".join(map(index_line, api.explain())), None)
        return 0
    write("\n".join(lines(*api.explain(word))), None)
    return 0
