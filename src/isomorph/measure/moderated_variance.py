"""Moderated variances: estimates from few draws that borrow from similar elements.

Few draws estimate a single variance poorly. Elements with the same variance, or with the same
variance relative to their size, may share their draws; a mask or a pixel coordinate next to a score
must not. How similar they are is estimated from the variances themselves: how much their logarithms
vary beyond what few draws explain (Smyth, 2004).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.chance import largest_deficit, student

if TYPE_CHECKING:
    from isomorph.core.trace import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Moderated:
    """Standard deviations, and the degrees of freedom behind them."""

    deviation: Array
    freedom: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shared:
    """The common variance of a group of elements, and its degrees of freedom."""

    freedom: float
    variance: Array
    """In the square of ``unit``, broadcast over the elements; NaN where nothing is shared."""


def moderated(variance: Array, size: Array, freedom: float) -> Moderated:
    """Return deviations from ``variance``, estimated with ``freedom`` degrees of freedom.

    ``size`` is the magnitude of each element. An element that no draw moved keeps a deviation of
    zero, whatever its neighbors do.
    """
    if variance.size == 0 or not np.any(variance > 0):
        return Moderated(deviation=np.sqrt(variance), freedom=freedom)
    plain = _shared(variance, np.ones_like(size), freedom)
    relative = _shared(variance, size, freedom)
    shared = relative if relative.freedom > plain.freedom else plain
    total = freedom + shared.freedom
    helped = np.isfinite(shared.variance)
    with np.errstate(invalid="ignore", over="ignore"):
        mixed = (shared.freedom * shared.variance + freedom * variance) / total
        # Neighbors may raise a variance that is small by chance, by no more than chance explains.
        mixed = np.minimum(mixed, variance * largest_deficit(freedom, variance.size))
    # One threshold serves the whole tensor: the deviation of an element without neighbors is
    # widened for its fewer degrees of freedom.
    alone = student(variance.size, freedom) / student(variance.size, total)
    found = np.where(helped, mixed, variance * alone**2)
    return Moderated(deviation=np.sqrt(np.where(variance > 0, found, 0.0)), freedom=total)


def _shared(variance: Array, unit: Array, freedom: float) -> _Shared:
    """Return the variance that the elements of a group share in these units."""
    nothing = _Shared(freedom=0.0, variance=np.full(variance.shape, np.nan))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        logs = np.log(variance) - 2.0 * np.log(unit)
    seen = np.isfinite(logs)
    axes = _neighbors(variance.ndim)
    counts = np.sum(seen, axis=axes, keepdims=True)
    groups, spare = np.count_nonzero(counts), int(np.sum(np.maximum(counts - 1, 0)))
    if not spare:
        return nothing
    logs = np.where(seen, logs, 0.0)
    centers = np.sum(logs, axis=axes, keepdims=True) / np.maximum(counts, 1)
    spread = float(np.sum(np.square(np.where(seen, logs - centers, 0.0)))) / spare
    # A group is worth no more than all the draws of its other members.
    most = freedom * spare / groups
    worth = min(inverse_trigamma(spread - trigamma(0.5 * freedom)) * 2.0, most)
    if worth <= 0.0:
        return nothing
    bias = _log_bias(worth) - _log_bias(freedom)
    with np.errstate(over="ignore", invalid="ignore"):
        value = np.where(seen, np.exp(centers + bias) * np.square(unit), np.nan)
    return _Shared(freedom=worth, variance=value)


def _neighbors(axes: int) -> tuple[int, ...]:
    """Return the axes of a group: the image of a channel for four axes, else the last axis."""
    return tuple(range(2, axes)) if axes >= 4 else (() if axes == 0 else (-1,))


def _log_bias(freedom: float) -> float:
    """The mean logarithm of a variance estimated with so many degrees, over its true one."""
    return digamma(0.5 * freedom) - math.log(0.5 * freedom)


def digamma(x: float) -> float:
    """The derivative of the logarithm of the gamma function."""
    total = 0.0
    while x < 8.0:
        total, x = total - 1.0 / x, x + 1.0
    square = 1.0 / (x * x)
    return total + math.log(x) - 0.5 / x - square * (1 / 12 - square * (1 / 120 - square / 252))


def trigamma(x: float) -> float:
    """The second derivative: the variance of the logarithm of a gamma variable."""
    total = 0.0
    while x < 8.0:
        total, x = total + 1.0 / (x * x), x + 1.0
    square = 1.0 / (x * x)
    series = 1 / 6 - square * (1 / 30 - square * (1 / 42 - square / 30))
    return total + 1.0 / x + 0.5 * square + square / x * series


def tetragamma(x: float) -> float:
    """The third derivative, which is negative."""
    total = 0.0
    while x < 8.0:
        total, x = total - 2.0 / x**3, x + 1.0
    square = 1.0 / (x * x)
    series = 1 / 2 - square * (1 / 6 - square * (1 / 6 - square * 3 / 10))
    return total - square - square / x - square * square * series


def inverse_trigamma(value: float) -> float:
    """The argument at which trigamma has this value; infinite where it is not above zero.

    By Newton's method for 1/trigamma, which is nearly a straight line, and convex: steps from
    below its root stay below it.
    """
    if value <= 0.0:
        return math.inf
    if value > 1e12:
        return 1.0 / math.sqrt(value)
    if value < 1e-12:
        return 1.0 / value
    found = 0.5 + 1.0 / value
    for _ in range(64):
        current = trigamma(found)
        step = current * (1.0 - current / value) / tetragamma(found)
        found += step
        if abs(step) < 1e-14 * found:
            break
    return found
