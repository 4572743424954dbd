"""What a team wrote down about its conversions: named pairs, and how each is checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedPair:
    """A reference and a candidate under a name; ``options`` are those of ``isomorph.check``.

    ``name`` carries the environment behind an at sign where a pair is checked in several.
    """

    name: str
    reference: str
    candidate: str | None
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project file: where it is, its pairs, and where its baseline is or will be."""

    file: str
    baseline: str
    pairs: tuple[NamedPair, ...]
