"""Wrapping lines to the terminal, with a hanging indent below the leading label."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterable, Iterator

NARROWEST, USUAL = 40, 100
_WORD = re.compile(r" *\w+(?: \w+)? {2,}| *\w+ ")
_WHOLE = ("again ", "setting ", "  code ")
"""Lines with commands are not wrapped, so that they can be copied."""


def wrapped(lines: Iterable[str]) -> Iterator[str]:
    """The lines wrapped to the width of the terminal; words are never broken."""
    width = max(NARROWEST, shutil.get_terminal_size((USUAL, 24)).columns)
    for line in lines:
        if len(line) <= width or line.startswith(_WHOLE):
            yield line
            continue
        word = _WORD.match(line)
        margin = len(word[0]) if word is not None and len(word[0]) < width // 2 else 2
        yield from textwrap.wrap(
            line,
            width,
            subsequent_indent=" " * margin,
            # Names and paths of models must stay copyable, too.
            break_long_words=False,
            break_on_hyphens=False,
            drop_whitespace=True,
        )
