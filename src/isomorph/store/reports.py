"""Reports that were written as JSON, read back as the dataclasses they were written from."""

from __future__ import annotations

import typing
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any

from isomorph.core.errors import UsageError
from isomorph.core.report import SCHEMA, Report
from isomorph.core.untrusted_json import read_json

if TYPE_CHECKING:
    from pathlib import Path

REPAIR_SCHEMA = "isomorph.repair/1"
_FIRST_SCHEMA = "isomorph.report/1"
_SPELLED = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}


def read_report(path: Path) -> Report:
    """One report; what a later version added to it is left out, what it lacks is empty."""
    data = _document(path)
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema == _FIRST_SCHEMA:
        data, schema = _from_first(data), SCHEMA
    if schema != SCHEMA:
        raise _unreadable(path, f"its schema is {schema!r}, and this version reads {SCHEMA!r}")
    try:
        report = built(Report, data)
    except (TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
        raise _unreadable(path, f"a field does not fit the schema: {error}") from error
    return typing.cast("Report", report)


def _from_first(data: dict[str, Any]) -> dict[str, Any]:
    """A report of the first schema in the terms of the present one: two fields were renamed."""
    baseline = data.get("baseline")
    if isinstance(baseline, dict) and isinstance(baseline.get("standings"), list):
        statuses = [
            {("message" if key == "told" else key): value for key, value in each.items()}
            if isinstance(each, dict)
            else each
            for each in baseline["standings"]
        ]
        baseline = {**baseline, "statuses": statuses}
    return {**data, "schema": SCHEMA, "baseline": baseline}


def read_repair(path: Path) -> dict[str, Any]:
    """The JSON of ``isomorph fix --format json``, as plain data."""
    data = _document(path)
    schema = data.get("schema") if isinstance(data, dict) else None
    if not isinstance(data, dict) or schema != REPAIR_SCHEMA:
        raise _unreadable(path, f"its schema is {schema!r}, and a repair's is {REPAIR_SCHEMA!r}")
    return data


def _document(path: Path) -> Any:  # noqa: ANN401
    try:
        return read_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UsageError("FILE_NOT_FOUND", "there is no such report:", file=str(path)) from error
    except (OSError, ValueError, RecursionError) as error:
        raise _unreadable(path, str(error)) from error


def _unreadable(path: Path, why: str) -> UsageError:
    return UsageError(
        "REPORT_UNREADABLE",
        "this is no report that can be read",
        file=str(path),
        why=why,
        fix="write one with: isomorph check REFERENCE CANDIDATE --format json -o REPORT.json",
    )


def built(hint: Any, data: Any) -> Any:  # noqa: ANN401
    """``data`` of a JSON document as a value of the type ``hint``."""
    kind, inner = _kind(hint)
    if data is None or kind is Any:
        return data
    if isinstance(kind, type) and is_dataclass(kind):
        return _noun(kind, data)
    if kind is float:
        return _SPELLED[data] if isinstance(data, str) else float(data)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(data)
    if kind is tuple:
        return _row(inner, data)
    if kind is Mapping:
        return {str(key): built(inner[1], item) for key, item in data.items()}
    if isinstance(kind, type) and not isinstance(data, kind):
        raise TypeError(f"{data!r} is no {kind.__name__}")
    return data


def _noun(kind: type, data: Any) -> Any:  # noqa: ANN401
    hints = _hints(kind)
    given = {name: built(hints[name], item) for name, item in data.items() if name in hints}
    required = {
        each.name
        for each in fields(kind)
        if each.default is MISSING and each.default_factory is MISSING
    }
    if required - set(given):
        raise ValueError(f"{kind.__name__} lacks {', '.join(sorted(required - set(given)))}")
    return kind(**given)


def _row(inner: tuple[Any, ...], data: Any) -> tuple[Any, ...]:  # noqa: ANN401
    if not isinstance(data, list):
        raise TypeError(f"{data!r} is no list")
    if len(inner) == 2 and inner[1] is Ellipsis:
        return tuple(built(inner[0], item) for item in data)
    return tuple(built(each, item) for each, item in zip(inner, data, strict=True))


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


@cache
def _kind(hint: Any) -> tuple[Any, tuple[Any, ...]]:  # noqa: ANN401
    """The class of a hint and what it holds; of an optional one, that of its value."""
    if typing.get_origin(hint) in (typing.Union, UnionType):
        members = [each for each in typing.get_args(hint) if each is not NoneType]
        # A union of plain values is what JSON made of it.
        return _kind(members[0]) if len(members) == 1 else (Any, ())
    origin = typing.get_origin(hint)
    if origin is None:
        return (Mapping, (Any, Any)) if hint is Mapping else (hint, ())
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return Mapping, typing.get_args(hint)
    return origin, typing.get_args(hint)
