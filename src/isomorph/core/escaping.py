"""Text out of a model is untrusted data: it is escaped before it is shown."""

from __future__ import annotations

import unicodedata

# Categories that can move the cursor, hide text or turn its direction around.
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def counted(count: int, noun: str) -> str:
    """``1 node``, ``2 nodes``: the number with its noun."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def printable(text: str, *, limit: int = 400) -> str:
    """``text`` on one line, with control and invisible characters spelled as escapes."""
    shown = "".join(
        character
        if unicodedata.category(character) not in _INVISIBLE
        else character.encode("unicode_escape", "surrogatepass").decode("ascii")
        for character in text[: limit + 1]
    )
    return shown if len(text) <= limit else f"{shown[:limit]}… ({len(text)} characters)"
