"""Bounds of fields that a type cannot express; the JSON Schema of the report states them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The least and the most that a number may be, or that a list may hold."""

    least: int | None = None
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Keys:
    """A key that a mapping has at least; its value is a string."""

    name: str


Count = Annotated[int, Bounds(least=0)]
"""A number of things, an index or a size."""
PositiveCount = Annotated[int, Bounds(least=1)]
Probability = Annotated[float, Bounds(least=0, most=1)]
"""Between 0 and 1, and never NaN."""
NonEmptyNames = Annotated[tuple[str, ...], Bounds(least=1)]
