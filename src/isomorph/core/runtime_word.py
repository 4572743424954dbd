"""``NAME`` or ``NAME@PLACE``: a runtime, and the Python environment that it runs in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from isomorph.core.errors import RefusedError, UsageError
from isomorph.core.escaping import printable

SEPARATOR = "@"
LIBRARY_SETTINGS = frozenset({"custom_ops"})
"""Settings of runtimes whose value is the path of a library with code."""


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


def loaded_libraries(settings: object) -> tuple[str, ...]:
    """The settings of runtimes, of any side, whose value is a library that they load."""
    given = settings if isinstance(settings, Mapping) else {}
    return tuple(
        str(key) for key, value in given.items()
        if str(key).rpartition(".")[2] in LIBRARY_SETTINGS and value
    )  # fmt: skip


def require_trust(options: Mapping[str, Any], *, file: str, where: str) -> None:
    """Raise where a file of options names code to be run and nobody trusts it.

    An interpreter is a program that would be started, and a library runs as soon as it is loaded;
    whoever wrote the file has chosen them.
    """
    if options.get("trust"):
        return
    if names_environment(options.get("runtime")):
        raise RefusedError(
            "INTERPRETER_NEEDS_TRUST",
            "the file names a Python interpreter that would be started",
            file=file,
            where=where,
            why="starting it runs whatever program lies there",
            fix="add --trust, or trust = true to this table, if the file and that program are "
            "yours; or name the environment on the command line (--runtime NAME@PLACE)",
        )
    for setting in loaded_libraries(options.get("settings")):
        raise RefusedError(
            "LIBRARY_NEEDS_TRUST",
            f"the file names a library that a runtime would load: {printable(setting)}",
            file=file,
            where=where,
            why="a library runs code as soon as it is loaded",
            fix="add --trust, or trust = true to this table, if the file and that library are "
            "yours; or name the library on the command line (--set custom_ops=PATH)",
        )
