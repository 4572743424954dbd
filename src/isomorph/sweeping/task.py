"""What an engine needs to run one cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isomorph.core.sweep import Cell

START_BYTES = 700 << 20
"""What the processes of a cell take with a model of no size (imports of two frameworks)."""
BYTES_PER_BYTE = 12
"""Memory for each byte of both models: float64 values, draws, and the copy of a runtime."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellFile:
    """A file that a cell reads, with the digest that its key was made of.

    ``name`` is its place relative to the folder of the word that names it; empty where the word
    names the file itself.
    """

    path: str
    name: str
    digest: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One cell to run: its words, the folder it runs in, and the memory that it may need.

    ``report`` is where its report has to be when it has ended. ``files`` are those of each path
    among the options of the cell; an engine that runs it on another machine brings them there.
    """

    key: str
    words: tuple[str, ...]
    folder: Path
    need_bytes: int
    report: Path = Path()
    cell: Cell | None = None
    files: Mapping[str, tuple[CellFile, ...]] = field(default_factory=dict)
