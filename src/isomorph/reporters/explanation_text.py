"""The text of ``isomorph explain``."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from isomorph.core.messages import message

if TYPE_CHECKING:
    from isomorph.core.explanation import Explanation

_WIDTH = 88
_MOST_ISSUES = 5


def index_line(found: Explanation) -> str:
    """A word and its first sentence."""
    return f"{found.word:28} {found.what}"


def lines(found: Explanation) -> Iterator[str]:
    """What a word means, how it is known, what to do, and known cases."""
    ends = f", exit {found.exit_code}" if found.exit_code is not None else ""
    yield f"{found.word} ({found.kind}{ends})"
    yield from _paragraph("", found.what)
    if found.recognized:
        yield from _paragraph(message("EXPLAIN.known_how"), found.recognized)
    yield from _paragraph(message("EXPLAIN.to_do"), found.do)
    shown = found.issues[:_MOST_ISSUES]
    if shown:
        yield (
            message("EXPLAIN.some_cases")
            if len(shown) < len(found.issues)
            else message("EXPLAIN.cases")
        )
        for issue in shown:
            yield from textwrap.wrap(
                issue, _WIDTH, initial_indent="    ", subsequent_indent="      "
            )


def _paragraph(title: str, text: str) -> list[str]:
    start = f"  {title}: " if title else "  "
    return textwrap.wrap(text, _WIDTH, initial_indent=start, subsequent_indent="    ")
