"""An array of intervals, one for each element of a tensor."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Interval:
    """The bounds of every element, in float64.

    An element may be infinite only where its bound is. Bounds say nothing about NaN: whether any
    element may be NaN is stated beside them.
    """

    lower: Array
    upper: Array
    may_be_nan: bool = False

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

    @property
    def infinite(self) -> Array:
        """Whether each element may be an infinity."""
        return np.asarray(np.isinf(self.lower) | np.isinf(self.upper))

    def widened(self, by: Array | float) -> Interval:
        """Every bound moved outward."""
        with np.errstate(invalid="ignore", over="ignore"):
            lower, upper = self.lower - by, self.upper + by
        return self.moved_to(lower, upper)

    def moved_to(self, lower: Array, upper: Array) -> Interval:
        """The same elements with other bounds; an infinity stays one."""
        lower = np.where(np.isinf(self.lower), self.lower, lower)
        upper = np.where(np.isinf(self.upper), self.upper, upper)
        found = clean(lower, upper)
        return replace(found, may_be_nan=found.may_be_nan or self.may_be_nan)

    def clipped(self, least: float, most: float) -> Interval:
        """The part within two numbers that no element leaves."""
        return replace(
            self, lower=np.clip(self.lower, least, most), upper=np.clip(self.upper, least, most)
        )

    def beyond_is_infinite(self, most: float) -> Interval:
        """The bounds of a run in a type whose largest number is ``most``."""
        lower, upper = np.minimum(self.lower, most), np.maximum(self.upper, -most)
        return replace(
            self,
            lower=np.where(lower < -most, -np.inf, lower),
            upper=np.where(upper > most, np.inf, upper),
        )


def clean(lower: Array, upper: Array) -> Interval:
    """An interval of these bounds; one that is NaN becomes infinite, and is noted."""
    lower, upper = np.asarray(lower, np.float64), np.asarray(upper, np.float64)
    low_nan, high_nan = np.isnan(lower), np.isnan(upper)
    return Interval(
        np.where(low_nan, -np.inf, lower),
        np.where(high_nan, np.inf, upper),
        may_be_nan=bool(low_nan.any() or high_nan.any()),
    )


def point(value: Array) -> Interval:
    """A tensor that is known."""
    wide = np.asarray(value, np.float64)
    return clean(wide, wide)


def hull(values: Iterable[Array]) -> Interval:
    """The smallest interval around several values of each element; NaN makes it infinite, too."""
    arrays = [np.asarray(value, np.float64) for value in values]
    unknown = np.any([np.isnan(each) for each in arrays], axis=0)
    lower, upper = np.minimum.reduce(arrays), np.maximum.reduce(arrays)
    return Interval(
        np.where(unknown, -np.inf, lower),
        np.where(unknown, np.inf, upper),
        may_be_nan=bool(unknown.any()),
    )


def unbounded(shape: tuple[int, ...]) -> Interval:
    """What is known of a tensor of which nothing is known."""
    return within(shape, -np.inf, np.inf)


def within(shape: tuple[int, ...], least: float, most: float) -> Interval:
    """The same interval for every element."""
    return Interval(np.full(shape, float(least)), np.full(shape, float(most)))
