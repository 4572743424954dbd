"""Statistics of one pair of outputs over many samples, with the worst samples."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isomorph.measure.axis_profiles import Profiles
from isomorph.measure.distance import distance, is_inexact, widen
from isomorph.measure.output_layout import Arrangeable

if TYPE_CHECKING:
    from isomorph.core.divergence import Distance
    from isomorph.core.trace import Array
    from isomorph.inputs.feeds import Sample
    from isomorph.match.axis_layout import Rearrangement

PROBABILITIES = (0.0, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A sample with its errors at one output."""

    sample: Sample
    relative: float
    absolute: float


class Record:
    """Errors by sample; infinite where shapes differ or one side is not finite."""

    def __init__(
        self, name: str = "", arrangeable: Callable[[], Arrangeable] = Arrangeable
    ) -> None:
        self._name, self._arrangeable = name, arrangeable
        self.relative: list[float] = []
        self.worst: dict[str, Kept] = {}
        self.first_not_finite: str | None = None
        self.not_finite = self.mismatched = self.misshapen = 0
        self.profiles = Profiles()
        self._agreeing = self._rows = 0.0
        self._order: tuple[int, ...] | None = None

    def add(self, sample: Sample, expected: Array, actual: Array) -> Array:
        """Add one sample; return the candidate's values in the reference's arrangement."""
        moved = self._arranged(expected, actual)
        if moved is None:
            self.lacking(sample)
            return actual
        measured = distance(moved, expected)
        relative, absolute = _errors(measured, moved, expected)
        self._keep(sample, relative, absolute)
        if is_inexact(expected) and is_inexact(moved):
            self._count(sample, measured, moved, expected)
            self.profiles.add(moved, expected, sample.feeds)
        return moved

    def lacking(self, sample: Sample) -> None:
        """Add a sample on which only one side has this output."""
        self.misshapen += 1
        self._keep(sample, math.inf, math.inf)

    @property
    def label_agreement(self) -> float | None:
        """The share of rows, of all samples, whose largest element is the same."""
        return self._agreeing / self._rows if self._rows else None

    def quantiles(self) -> dict[str, float]:
        """Return quantiles of the relative error by probability; each value occurred."""
        ordered = np.sort(self.relative)
        places = (math.ceil(p * len(ordered)) - 1 for p in PROBABILITIES)
        return {
            f"{p:g}": float(ordered[max(place, 0)])
            for p, place in zip(PROBABILITIES, places, strict=True)
        }

    def _keep(self, sample: Sample, relative: float, absolute: float) -> None:
        self.relative.append(relative)
        for kind, error in (("relative", relative), ("absolute", absolute)):
            if kind not in self.worst or error > getattr(self.worst[kind], kind):
                self.worst[kind] = Kept(sample=sample, relative=relative, absolute=absolute)

    def _count(self, sample: Sample, measured: Distance, moved: Array, expected: Array) -> None:
        if measured.argmax_agreement is not None:
            rows = expected.size / expected.shape[-1]
            self._agreeing += measured.argmax_agreement * rows
            self._rows += rows
        self.mismatched += bool(measured.nonfinite_mismatch)
        if measured.nonfinite_mismatch or not np.isfinite(widen(expected)).all():
            self.not_finite += 1
            self.first_not_finite = self.first_not_finite or sample.origin

    def _arranged(self, expected: Array, actual: Array) -> Array | None:
        """Rearrange the axes; the order is chosen by value on the first sample and then kept."""
        allowed = self._arrangeable()
        stated = self._name in allowed.stated
        if actual.shape == expected.shape and self._order is None and not stated:
            return actual
        rearrangements = allowed.rearrangements(
            self._name, tuple(actual.shape), tuple(expected.shape)
        )
        if self._order is not None:
            rearrangements = tuple(
                each for each in rearrangements if each.permutation == self._order
            )
        if not rearrangements:
            return None

        def far(each: Rearrangement) -> float:
            return relative_error(each.array(actual), expected)

        best = min(rearrangements, key=far)
        self._order = best.permutation
        return best.array(actual)


def relative_error(actual: Array, expected: Array) -> float:
    """Return the relative L2 distance; infinite where only one side is NaN or infinite."""
    return _errors(distance(actual, expected), actual, expected)[0]


def _errors(measured: Distance, actual: Array, expected: Array) -> tuple[float, float]:
    """Return the relative and absolute error; of exact values, the share that differs."""
    if not (is_inexact(actual) or is_inexact(expected)):
        share = measured.differing / max(measured.elements, 1)
        return share, share
    if measured.nonfinite_mismatch:
        return math.inf, math.inf
    absolute = measured.max_abs or 0.0
    if measured.relative_l2 is None:
        return (math.inf if absolute else 0.0), absolute
    return measured.relative_l2, absolute
