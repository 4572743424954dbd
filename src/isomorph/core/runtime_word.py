"""``NAME`` or ``NAME@PLACE``: a runtime, and the Python environment that it runs in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from isomorph.core.errors import RefusedError, UsageError
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


def require_trust(options: Mapping[str, Any], *, file: str, where: str) -> None:
    """Raise where a file of options names an environment and nobody trusts it.

    The interpreter is a program that would be started, chosen by whoever wrote the file.
    """
    if names_environment(options.get("runtime")) and not options.get("trust"):
        raise RefusedError(
            "INTERPRETER_NEEDS_TRUST",
            "the file names a Python interpreter that would be started",
            file=file,
            where=where,
            why="starting it runs whatever program lies there",
            fix="add --trust, or trust = true to this table, if the file and that program are "
            "yours; or name the environment on the command line (--runtime NAME@PLACE)",
        )
