"""What the value of a setting may be: one description to check it, and for its JSON Schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from isomorph.core.budgets import is_budget


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueKind:
    """A kind of value in TOML: ``expected`` is what an error and an editor call it."""

    expected: str
    schema: Mapping[str, Any]
    fits: Callable[[object], bool]


def text(expected: str) -> ValueKind:
    """A string without a NUL, which no path and no name can hold."""
    return ValueKind(
        expected=expected,
        schema={"type": "string", "pattern": "^[^\\u0000]*$"},
        fits=lambda value: isinstance(value, str) and "\0" not in value,
    )


def whole(expected: str) -> ValueKind:
    """A whole number; true and false are none."""
    return ValueKind(
        expected=expected,
        schema={"type": "integer"},
        fits=lambda value: isinstance(value, int) and not isinstance(value, bool),
    )


def number(expected: str) -> ValueKind:
    """A number."""
    return ValueKind(
        expected=expected,
        schema={"type": "number"},
        fits=lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    )


def flag() -> ValueKind:
    """True or false."""
    return ValueKind(
        expected="true or false",
        schema={"type": "boolean"},
        fits=lambda value: isinstance(value, bool),
    )


def budget(expected: str) -> ValueKind:
    """An absolute budget."""
    return ValueKind(expected=expected, schema={"type": "number", "minimum": 0}, fits=is_budget)


def table_of(kind: ValueKind, expected: str) -> ValueKind:
    """A table whose values are of one kind."""
    return ValueKind(
        expected=expected,
        schema={"type": "object", "additionalProperties": kind.schema},
        fits=lambda value: isinstance(value, dict) and all(map(kind.fits, value.values())),
    )


def list_of(kind: ValueKind, expected: str) -> ValueKind:
    """A list whose elements are of one kind."""
    return ValueKind(
        expected=expected,
        schema={"type": "array", "items": kind.schema},
        fits=lambda value: isinstance(value, list) and all(map(kind.fits, value)),
    )


def either(first: ValueKind, second: ValueKind, expected: str) -> ValueKind:
    """A value of one of two kinds."""
    return ValueKind(
        expected=expected,
        schema={"anyOf": [first.schema, second.schema]},
        fits=lambda value: first.fits(value) or second.fits(value),
    )
