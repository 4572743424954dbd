"""Read TOML, with errors that locate unknown keys and wrong types."""

from __future__ import annotations

import difflib
import json
import stat
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from isomorph.core.errors import UsageError
from isomorph.core.escaping import printable
from isomorph.store.safe_paths import not_regular

_LARGEST = (1 << 63) - 1
_MOST_SHOWN = 60
"""Characters of a value that has the wrong type: a whole table is one, too."""


def read(path: Path) -> dict[str, Any]:
    """The tables of a file, or the error that locates what is no TOML."""
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            raise not_regular(path, mode, UsageError)
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        _bound_numbers(document)
    except OSError as error:
        raise UsageError(
            "CONFIG_UNREADABLE", "the file cannot be read:", file=str(path), why=str(error.strerror)
        ) from error
    # A number with thousands of digits is a ValueError; brackets in brackets are a RecursionError.
    except (ValueError, RecursionError) as error:
        raise UsageError(
            "CONFIG_INVALID", "the file is no TOML:", file=str(path), why=str(error)
        ) from error
    return document


def _bound_numbers(value: Any) -> None:  # noqa: ANN401
    """TOML has integers of 64 bits; Python reads longer ones, and cannot print the longest."""
    if isinstance(value, int) and not -_LARGEST - 1 <= value <= _LARGEST:
        raise ValueError("a whole number has more than 64 bits")
    inside = value.values() if isinstance(value, dict) else value
    for each in inside if isinstance(value, (dict, list)) else ():
        _bound_numbers(each)


def refuse_unknown(
    table: Mapping[str, Any], known: Iterable[str], *, file: Path, where: str
) -> None:
    """An unknown key is an error that names its nearest neighbor."""
    words = list(known)
    for key in table:
        if key not in words:
            near = difflib.get_close_matches(key, words, n=1)
            raise UsageError(
                "CONFIG_INVALID", f"unknown key {key!r}", file=str(file), where=where,
                why=f"did you mean {near[0]!r}?" if near else f"known: {', '.join(words)}",
            )  # fmt: skip


def wrong_type(key: str, value: object, expected: str, *, file: Path, where: str) -> UsageError:
    """The error for a value of another type."""
    return UsageError(
        "CONFIG_INVALID",
        f"{key} is {printable(repr(value), limit=_MOST_SHOWN)}",
        file=str(file),
        where=where,
        why=f"expected {expected}",
    )


def text(value: str) -> str:
    """A basic string of TOML, whatever it holds."""
    # JSON escapes what TOML does, but for DEL; and neither can hold half a character.
    whole = value.encode("utf-8", "replace").decode("utf-8")
    return json.dumps(whole, ensure_ascii=False).replace("\x7f", "\\u007f")
