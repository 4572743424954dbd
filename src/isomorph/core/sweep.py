"""Many checks as one matrix: models, environments, data, seeds, and the answer of each cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from isomorph.core.presentation import short

SCHEMA = "isomorph.sweep/1"


class Verb(StrEnum):
    """The command that a cell runs."""

    CHECK = "check"
    PROVE = "prove"
    FIX = "fix"
    CONVERT = "convert"

    @property
    def takes_one(self) -> bool:
        """Whether it takes the reference alone."""
        return self is Verb.CONVERT


class EngineName(StrEnum):
    """Where the cells of a sweep run."""

    LOCAL = "local"
    """In processes of this machine."""
    RAY = "ray"
    """In tasks of a Ray cluster."""


class CellStatus(StrEnum):
    """What became of a cell."""

    DONE = "done"
    """It has an answer: a verdict, or an error about its files."""
    LOST = "lost"
    """Its process was ended from outside each time that it was tried."""
    LEFT = "left"
    """It was not run: the sweep was ended, or another shard has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One combination; ``options`` are those of a pair of the project file.

    ``candidate`` is empty where there is one model: what it is converted to, or its own oracle, is
    compared with it.
    """

    model: str
    environment: str
    shard: str
    seed: int
    reference: str
    candidate: str
    verb: Verb = Verb.CHECK
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """``resnet@plain``, with the shard of the data and a seed other than 0."""
        seed = f"seed {self.seed}" if self.seed else ""
        parts = f"{self.model}@{self.environment}", self.shard, seed
        return " ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class CellResult:
    """The answer of one cell. ``key`` is the digest of everything that it follows from.

    ``ratio`` is the largest error of an output as a share of its budget. ``report`` is the file in
    the store; empty where there is none.
    """

    name: str
    model: str
    environment: str
    shard: str
    seed: int
    key: str
    status: CellStatus
    verdict: str = ""
    exit_code: int | None = None
    headline: str = ""
    reason: str = ""
    node: str = ""
    cause: str = ""
    ratio: float | None = None
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_bytes: int = 0
    attempts: int = 0
    report: str = ""
    fresh: bool = False
    """Whether it was run now; else it was in the store."""

    @property
    def outcome(self) -> str:
        """The verdict; ``error`` for an answer without one, ``lost`` or ``left`` for no answer."""
        return self.verdict or ("error" if self.status is CellStatus.DONE else str(self.status))


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPlan:
    """The matrix of a sweep file."""

    file: str
    store: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """All cells of a sweep, in the order of the file."""

    file: str
    store: str
    cells: tuple[CellResult, ...]
    seconds: float = 0.0
    interrupted: bool = False
    version: str = ""
    schema: str = SCHEMA

    def __repr__(self) -> str:
        """How many cells have which answer."""
        counts = ", ".join(f"{count} {word}" for word, count in self.counted().items())
        return short("Sweep", f"{self.file}: {len(self.cells)} cells: {counts}")

    def counted(self) -> dict[str, int]:
        """How many cells have each verdict, or none yet."""
        found: dict[str, int] = {}
        for each in self.cells:
            found[each.outcome] = found.get(each.outcome, 0) + 1
        return found

    @property
    def exit_code(self) -> int:
        """The first of 70, 2, 4, 1, 3, 0 that a cell has; a cell without an answer counts as 3."""
        codes = {3 if each.exit_code is None else each.exit_code for each in self.cells}
        if self.interrupted:
            return 130
        return next((code for code in (70, 2, 4, 1, 3, 0) if code in codes), 3)
