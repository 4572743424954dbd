"""A real parameter read off the data: the value at which the node comes nearest, in full.

People write 1e-5, 0.01 and 1/6: of the numbers that come nearest, the shortest is the likeliest.
One that comes less near is not: it would be a second, smaller fault.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.repair_limits import (
    FITTED_DECADES,
    FITTED_DENOMINATOR,
    FITTED_DIGITS,
    FITTED_MANTISSAS,
    FITTED_STEPS,
    FLOAT_NEIGHBORS,
)
from isomorph.oracle.sizes import rms

if TYPE_CHECKING:
    from isomorph.core.trace import Array

_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


def fitted(error: Callable[[float], float], now: float, *, floor: float = 0.0) -> Iterator[float]:
    """The values of the least error, short decimals first.

    ``floor`` is what the arithmetic of the experiment itself makes of two equal values.
    """
    sizes = (m * 10.0**d for d in FITTED_DECADES for m in FITTED_MANTISSAS)
    grid = sorted({0.0, now, *(_signs(now) * size for size in sizes)})
    errors = [error(value) for value in grid]
    if not np.isfinite(errors).any():
        return
    place = int(np.nanargmin(errors))
    low, high = grid[max(place - 1, 0)], grid[min(place + 1, len(grid) - 1)]
    best = _narrowed(error, low, high)
    if errors[place] < error(best):
        best = grid[place]
    best = _polished(error, best)
    found = {value: error(value) for value in written(best)}
    least = min(found.values()) + floor
    yield from (value for value, off in found.items() if off <= least)


def written(value: float) -> Iterator[float]:
    """What somebody may have written for a number that was measured, the simplest first."""
    if not np.isfinite(value):
        yield value
        return
    simple = float(Fraction(value).limit_denominator(FITTED_DENOMINATOR))
    short = [each for each in decimals(value) if each != value]
    yield from dict.fromkeys((*short, simple, float(np.float32(value)), value))


def _polished(error: Callable[[float], float], best: float) -> float:
    """The number that a file of float32 holds at the least error: a search ends beside it."""
    least = error(best)
    for way in (-np.inf, np.inf):
        place = np.float32(best)
        for _ in range(FLOAT_NEIGHBORS.most):
            place = np.nextafter(place, np.float32(way))
            if not error(float(place)) < least:
                break
            best, least = float(place), error(float(place))
        else:
            FLOAT_NEIGHBORS.reached()
    return best


def _signs(now: float) -> float:
    return -1.0 if now < 0 else 1.0


def _narrowed(error: Callable[[float], float], low: float, high: float) -> float:
    """Golden section: the error has one minimum between two neighbors of the best grid point."""
    a, b = low, high
    left, right = b - _GOLDEN * (b - a), a + _GOLDEN * (b - a)
    at_left, at_right = error(left), error(right)
    for _ in range(FITTED_STEPS):
        if at_left <= at_right:
            b, right, at_right = right, left, at_left
            left = b - _GOLDEN * (b - a)
            at_left = error(left)
        else:
            a, left, at_left = left, right, at_right
            right = a + _GOLDEN * (b - a)
            at_right = error(right)
        if b - a <= 1e-9 * max(abs(a), abs(b)):
            break
    return (a + b) / 2


def decimals(value: float) -> Iterator[float]:
    """The value with one significant digit, two, …, and then as it is."""
    seen = set()
    for digits in range(1, FITTED_DIGITS + 1):
        short = float(f"{value:.{digits - 1}e}")
        if short not in seen:
            seen.add(short)
            yield short
    if value not in seen:
        yield value


def apart(right: Array, found: Array | None) -> float:
    """Root mean square of the difference; infinite where there is nothing to compare."""
    if found is None or found.shape != right.shape or not right.size:
        return float("inf")
    with np.errstate(all="ignore"):
        return rms(found.astype(np.float64) - right.astype(np.float64))
