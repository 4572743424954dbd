"""The range of every tensor of a model: proven bounds, measured values, and what a type holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from isomorph.core.report import ModelSummary, Skipped

SCHEMA = "isomorph.ranges/1"

TARGETS = ("float16", "bfloat16", "int8")
"""The types that ranges are compared with."""


class RangeStatus(StrEnum):
    """What is known about a tensor and the largest number of a type."""

    SAFE = "safe"
    """Proven: for every input in the ranges, the tensor stays within the type."""
    OVERFLOW = "overflow"
    """An input within the ranges is known on which it does not."""
    OPEN = "open"
    """Neither is known."""


class OpenReason(StrEnum):
    """Why a tensor has no bound that decides."""

    TOO_WIDE = "its bound exceeds the type, and no input was found that does"
    UNBOUNDED = "its operator has no bound on these intervals"
    NO_TRANSFORMER = "its operator has no interval arithmetic"
    MAY_BE_NAN = "its operator may give NaN on these intervals"
    MEASURED_NAN = "it is NaN on an input that was tried"
    BEHIND_OPEN = "it follows from a tensor without bounds"
    BEHIND_OVERFLOW = "it fits the type, unless a tensor that it follows from does not"
    UNKNOWN_SHAPE = "its shape may depend on the data"


@dataclass(frozen=True, slots=True, kw_only=True)
class InputRange:
    """The values that an input may take; ``origin`` is where they were stated."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    lower: float
    upper: float
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorRange:
    """One tensor: the interval that holds it, and the values that were measured inside.

    ``scale`` is the step of a symmetric int8 grid that the bound implies, ``measured_scale`` that
    of the measured values.
    """

    name: str
    node: str | None
    op: str | None
    dtype: str | None
    shape: tuple[int, ...]
    lower: float
    upper: float
    measured_lower: float
    measured_upper: float
    status: RangeStatus
    reason: OpenReason | None = None
    scale: float | None = None
    measured_scale: float | None = None
    data_magnitude: float | None = None
    headroom: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrailStep:
    """One node behind a large tensor: how large its result is, and the largest that it reads."""

    tensor: str
    node: str
    op: str
    magnitude: float
    operand: str | None
    operand_magnitude: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OverflowInput:
    """An input on which a tensor leaves the type.

    ``value`` is the largest number of the tensor in float64, ``run_value`` that of the usual run.
    ``narrow_value`` is that of a run in the narrow type, where there is one: an infinity or NaN.
    ``inputs`` holds the arrays themselves, for a program.
    """

    tensor: str
    node: str | None
    op: str | None
    value: float
    run_value: float | None
    narrow_value: float | None
    recipe: str
    given: bool = False
    """Whether it is one of the user's samples."""
    file: str | None = None
    inputs: Mapping[str, Any] = field(default_factory=dict, repr=False)


def steepest(trail: tuple[TrailStep, ...]) -> TrailStep | None:
    """The step of a trail whose result is the most times larger than what it reads."""
    grown = [(each.magnitude / each.operand_magnitude, place, each)
             for place, each in enumerate(trail) if each.operand_magnitude]  # fmt: skip
    return max(grown, default=(0.0, 0, None))[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranges:
    """The answer for one model and the ranges of its inputs."""

    model: ModelSummary
    target: str | None
    largest: float | None
    inputs: tuple[InputRange, ...]
    tensors: tuple[TensorRange, ...]
    overflows: tuple[OverflowInput, ...] = ()
    trail: tuple[TrailStep, ...] = ()
    """The nodes behind the first tensor that leaves the type, nearest first."""
    notes: tuple[str, ...] = ()
    seed: int = 0
    evaluations: int = 0
    boxes: int = 1
    skipped: tuple[Skipped, ...] = ()
    version: str = ""
    schema: str = SCHEMA

    def count(self, status: RangeStatus) -> int:
        """The number of tensors of this status."""
        return sum(each.status is status for each in self.tensors)

    @property
    def exit_code(self) -> int:
        """0 if every tensor is proven safe, 1 if one overflows, 3 if some are open."""
        if self.count(RangeStatus.OVERFLOW):
            return 1
        return 3 if self.count(RangeStatus.OPEN) else 0
