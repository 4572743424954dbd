"""Options of a file that name code, which run only where the user trusts the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from isomorph import registry
from isomorph.core.errors import RefusedError
from isomorph.core.escaping import printable
from isomorph.core.execution import LoadsLibraries
from isomorph.core.runtime_word import names_environment


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
    for key, setting in _loaded_libraries(options.get("settings")):
        raise RefusedError(
            "LIBRARY_NEEDS_TRUST",
            f"the file names a library that a runtime would load: {printable(key)}",
            file=file,
            where=where,
            why="a library runs code as soon as it is loaded",
            fix="add --trust, or trust = true to this table, if the file and that library are "
            f"yours; or name the library on the command line (--set {setting}=PATH)",
        )


def _loaded_libraries(settings: object) -> Iterator[tuple[str, str]]:
    """The settings of any side that name a library, as written and without the side."""
    given = settings if isinstance(settings, Mapping) else {}
    stated = [(str(key), str(key).rpartition(".")[2]) for key, value in given.items() if value]
    known = _library_settings() if stated else frozenset()
    yield from ((key, setting) for key, setting in stated if setting in known)


def _library_settings() -> frozenset[str]:
    """Of every runtime: the file's model, and so its runtime, is not known yet."""
    found: set[str] = set()
    for name in registry.names("runtimes"):
        with suppress(Exception):  # what cannot be loaded runs nothing
            runtime = registry.runtime(name)
            if isinstance(runtime, LoadsLibraries):
                found |= runtime.library_settings
    return frozenset(found)
