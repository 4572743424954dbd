"""The baseline file: read strictly, written so that a review shows what was accepted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

from isomorph.core.baseline import Accepted
from isomorph.core.divergence import DivergenceKind
from isomorph.store import toml
from isomorph.store.atomic import new_file
from isomorph.store.codec import origin

_HEAD = "# Divergences that were examined and accepted. Review changes here like code.\n"
_DATES = ("when", "until")


def read_baseline(path: Path) -> tuple[Accepted, ...]:
    """The accepted divergences of a file."""
    document = toml.read(path)
    toml.refuse_unknown(document, ["accepted"], file=path, where="top level")
    tables = document.get("accepted", [])
    if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
        raise toml.wrong_type("accepted", tables, "[[accepted]] tables", file=path, where="")
    return tuple(_entry(table, path, f"accepted #{n}") for n, table in enumerate(tables, start=1))


def _entry(table: Mapping[str, Any], file: Path, where: str) -> Accepted:
    known = fields(Accepted)
    toml.refuse_unknown(table, [field.name for field in known], file=file, where=where)
    values: dict[str, Any] = {}
    for field in known:
        value = table.get(field.name)
        if value is None:
            if field.name == "max_abs" or field.default is not MISSING:
                values[field.name] = None
                continue
            raise toml.wrong_type(field.name, None, "a value", file=file, where=where)
        values[field.name] = _value(field.name, value, file, where)
    return Accepted(**values)


def _value(key: str, value: object, file: Path, where: str) -> object:
    kind = _kinds()[key]
    if kind is tuple:
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            return tuple(value)
        raise toml.wrong_type(key, value, "a list of strings", file=file, where=where)
    if kind in {int, float}:
        # No count is infinite, half or no number; a distance may be.
        whole = kind is float or not isinstance(value, float) or value.is_integer()
        if isinstance(value, (int, float)) and not isinstance(value, bool) and whole:
            return kind(value)
        raise toml.wrong_type(key, value, "a number", file=file, where=where)
    if key in _DATES and isinstance(value, (str, date)):
        try:
            return date.fromisoformat(str(value)).isoformat()
        except ValueError as error:
            raise toml.wrong_type(
                key, value, "a date, as 2027-01-31", file=file, where=where
            ) from (error)
    if key == "kind" and value not in set(DivergenceKind):
        raise toml.wrong_type(key, value, ", ".join(DivergenceKind), file=file, where=where)
    if isinstance(value, str):
        return value
    raise toml.wrong_type(key, value, "a string", file=file, where=where)


@cache
def _kinds() -> dict[str, Any]:
    """The class of each field: str, int, float or tuple."""
    return {name: origin(hint) for name, hint in get_type_hints(Accepted).items()}


def write_baseline(path: Path, entries: Sequence[Accepted]) -> None:
    """Write the file anew, whole or not at all."""
    lines = [_HEAD]
    for entry in entries:
        lines.append("[[accepted]]")
        lines += [
            f"{field.name} = {_shown(field.name, getattr(entry, field.name))}"
            for field in fields(entry)
            if getattr(entry, field.name) is not None
        ]
        lines.append("")
    with new_file(path) as file:
        file.write("\n".join(lines).encode())


def _shown(key: str, value: Any) -> str:  # noqa: ANN401
    if key in _DATES:
        return str(value)
    if isinstance(value, tuple):
        return f"[{', '.join(toml.text(each) for each in value)}]"
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    return str(value) if isinstance(value, int) else toml.text(value)
