"""An array of intervals, one for each element of a tensor."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Interval:
    """The bounds of every element, in float64; an infinite bound states nothing."""

    lower: Array
    upper: Array

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the tensor."""
        return tuple(self.lower.shape)

    @property
    def least(self) -> float:
        """The lower bound of all elements."""
        return float(np.min(self.lower, initial=np.inf))

    @property
    def most(self) -> float:
        """The upper bound of all elements."""
        return float(np.max(self.upper, initial=-np.inf))

    @property
    def magnitude(self) -> Array:
        """The largest absolute value of each element."""
        return np.maximum(np.abs(self.lower), np.abs(self.upper))

    @property
    def middle(self) -> Array:
        """A number inside each interval; zero where a bound is infinite."""
        with np.errstate(invalid="ignore", over="ignore"):
            middle = 0.5 * self.lower + 0.5 * self.upper
        return np.where(np.isfinite(self.lower) & np.isfinite(self.upper), middle, 0.0)

    @property
    def radius(self) -> Array:
        """How far an element may be from the middle, rounded up."""
        middle = self.middle
        with np.errstate(invalid="ignore", over="ignore"):
            radius = np.maximum(self.upper - middle, middle - self.lower)
        return np.where(self.is_point, 0.0, np.nextafter(radius, np.inf))

    @property
    def is_point(self) -> Array:
        """Whether each interval holds one number only."""
        return np.asarray(self.lower == self.upper)

    @property
    def bounded(self) -> bool:
        """Whether every bound is finite."""
        return bool(np.isfinite(self.lower).all() and np.isfinite(self.upper).all())

    def widened(self, by: Array | float) -> Interval:
        """Every bound moved outward; a bound that is no number becomes infinite."""
        with np.errstate(invalid="ignore", over="ignore"):
            lower, upper = self.lower - by, self.upper + by
        return clean(lower, upper)

    def clipped(self, least: float, most: float) -> Interval:
        """The part within two numbers that no element leaves."""
        return Interval(np.clip(self.lower, least, most), np.clip(self.upper, least, most))


def clean(lower: Array, upper: Array) -> Interval:
    """An interval of these bounds; one that is no number becomes infinite."""
    lower, upper = np.asarray(lower, np.float64), np.asarray(upper, np.float64)
    return Interval(
        np.where(np.isnan(lower), -np.inf, lower), np.where(np.isnan(upper), np.inf, upper)
    )


def point(value: Array) -> Interval:
    """A tensor that is known."""
    wide = np.asarray(value, np.float64)
    return clean(wide, wide)


def hull(values: Iterable[Array]) -> Interval:
    """The smallest interval around several values of each element; NaN makes it infinite."""
    arrays = [np.asarray(value, np.float64) for value in values]
    unknown = np.any([np.isnan(each) for each in arrays], axis=0)
    lower, upper = np.minimum.reduce(arrays), np.maximum.reduce(arrays)
    return Interval(np.where(unknown, -np.inf, lower), np.where(unknown, np.inf, upper))


def unbounded(shape: tuple[int, ...]) -> Interval:
    """What is known of a tensor of which nothing is known."""
    return within(shape, -np.inf, np.inf)


def within(shape: tuple[int, ...], least: float, most: float) -> Interval:
    """The same interval for every element."""
    return Interval(np.full(shape, float(least)), np.full(shape, float(most)))
