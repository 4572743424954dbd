"""``NAME`` or ``NAME@PLACE``: a runtime, and the Python environment that it runs in."""

from __future__ import annotations

from collections.abc import Mapping

from isomorph.core.errors import UsageError
from isomorph.core.escaping import printable

SEPARATOR = "@"


def split_word(word: str) -> tuple[str, str]:
    """The name of the runtime, and the place of its environment; empty for isomorph's own."""
    name, separator, place = word.partition(SEPARATOR)
    if not name or (separator and not place):
        raise UsageError(
            "BAD_OPTION",
            f"the runtime {printable(word)!r} cannot be read",
            why="expected NAME, NAME@FOLDER of a virtual environment, NAME@EXECUTABLE or "
            "NAME@python:3.12",
        )
    return name, place


def names_environment(runtime: object) -> bool:
    """Whether the option ``runtime`` names an environment for any side."""
    words = runtime.values() if isinstance(runtime, Mapping) else (runtime,)
    return any(isinstance(word, str) and SEPARATOR in word for word in words)
