"""``isomorph explain``: what a cause or a code means, how it is recognized, what to do."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from isomorph.cli import options
from isomorph.cli.parameters import Argument, Option

if TYPE_CHECKING:
    from isomorph.core.explanation import Explanation

_WIDTH = 88
_MOST_ISSUES = 5


def explain(
    word: Annotated[
        str | None, Argument(metavar="CAUSE|CODE", help="A word of a report: attribute, TIMEOUT.")
    ] = None,
    *,
    every: Annotated[bool, Option("--list", help="Every word with its first sentence.")] = False,
    debug: options.Debug = False,
) -> int:
    """What a cause or a code means, and what to do about it.

    Exit codes: 0 explained, 2 an unknown word.
    """
    from isomorph import api
    from isomorph.cli.output import write
    from isomorph.core.errors import UsageError

    if every:
        write("\n".join(f"{each.word:28} {each.what}" for each in api.explain()), None)
        return 0
    if word is None:
        raise UsageError("BAD_OPTION", "nothing to explain", fix="give a word, or --list")
    write("\n".join(_lines(*api.explain(word))), None)
    return 0


def _lines(found: Explanation) -> Iterator[str]:
    ends = f", exit {found.exit_code}" if found.exit_code is not None else ""
    yield f"{found.word} ({found.kind}{ends})"
    yield from _paragraph("", found.what)
    if found.recognized:
        yield from _paragraph("how it is known", found.recognized)
    yield from _paragraph("what to do", found.do)
    shown = found.issues[:_MOST_ISSUES]
    if shown:
        yield "  known cases, among others:" if len(shown) < len(found.issues) else "  known cases:"
        for issue in shown:
            yield from textwrap.wrap(
                issue, _WIDTH, initial_indent="    ", subsequent_indent="      "
            )


def _paragraph(title: str, text: str) -> list[str]:
    start = f"  {title}: " if title else "  "
    return textwrap.wrap(text, _WIDTH, initial_indent=start, subsequent_indent="    ")
