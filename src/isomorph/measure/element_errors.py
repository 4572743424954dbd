"""Each element's error beside its allowance, in blocks that stay in the cache of a core.

The logits of a language model are millions of elements: a dozen arrays of that size, each written
and read once, take eight times as long.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isomorph.measure.distance import float_info, widen

if TYPE_CHECKING:
    from isomorph.core.trace import Array

_BLOCK = 1 << 13
"""OpenBLAS divides longer products between threads, which wait for each other on a busy machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """What each element may differ by: so many deviations, and the rounding of its type.

    ``unsettled`` marks where a value may be finite or not. ``stored``: at least one side went
    through the type. ``flushed``: at least one side is a run, which may have flushed to zero.
    """

    deviation: Array
    times: float
    unsettled: Array
    dtype: str
    stored: bool = True
    flushed: bool = True

    def each(self, actual: Array, expected: Array) -> Array:
        """Return what every element may differ by."""
        allowed = self.times * self.deviation
        if not self.stored:
            return allowed
        return allowed + stored_rounding(actual, expected, self.dtype, flushed=self.flushed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """The largest and the sums over all elements; NaN where an element of it is."""

    ratio: float = 0.0
    """The largest error over its allowance; infinite where nothing is allowed."""
    finite_ratio: float = 0.0
    """The largest that is finite."""
    allowed: float = 0.0
    allowed_squares: float = 0.0
    value: float = 0.0
    """The largest size of a value on either side, where both are finite."""

    def __add__(self, other: Totals) -> Totals:
        def larger(one: float, two: float) -> float:
            return float(np.maximum(one, two))

        return Totals(
            ratio=larger(self.ratio, other.ratio),
            finite_ratio=larger(self.finite_ratio, other.finite_ratio),
            allowed=larger(self.allowed, other.allowed),
            allowed_squares=self.allowed_squares + other.allowed_squares,
            value=larger(self.value, other.value),
        )


def totals(actual: Array, expected: Array, allowance: Allowance) -> Totals:
    """Compare every element with its allowance; return the largest of each, and the sums."""
    flat = [np.ravel(each) for each in (actual, expected, allowance.deviation, allowance.unsettled)]
    found = Totals()
    with np.errstate(all="ignore"):
        for start in range(0, actual.size, _BLOCK):
            a, e, deviation, unsettled = (each[start : start + _BLOCK] for each in flat)
            found += _block(a, e, deviation, unsettled, allowance)
    return found


def _block(
    actual: Array, expected: Array, deviation: Array, unsettled: Array, allowance: Allowance
) -> Totals:
    a, e = widen(actual), widen(expected)
    error, sizes = np.abs(a - e), (np.abs(a), np.abs(e))
    finite = np.isfinite(error)
    allowed = allowance.times * deviation
    if allowance.stored:
        allowed += _rounding(*sizes, allowance.dtype, flushed=allowance.flushed)
    values = np.maximum(*sizes)
    if finite.all():
        found = error / allowed
        if not allowed.all():
            found[error == 0] = 0.0
    else:
        found = _ratios(a, e, error, allowed, unsettled)
        values = values[finite]
    largest = float(np.max(found))
    return Totals(
        ratio=largest,
        finite_ratio=largest if np.isfinite(largest) else _largest_finite(found),
        allowed=float(np.max(allowed)),
        allowed_squares=float(np.dot(allowed, allowed)),
        value=float(np.max(values, initial=0.0)),
    )


def _largest_finite(found: Array) -> float:
    return float(np.max(found[np.isfinite(found)], initial=0.0))


def error_ratios(actual: Array, expected: Array, allowed: Array, unsettled: Array) -> Array:
    """Return each element's error over its allowance; infinite where none is allowed."""
    with np.errstate(all="ignore"):
        a, e = widen(actual), widen(expected)
        return _ratios(a, e, np.abs(a - e), allowed, unsettled)


def _ratios(a: Array, e: Array, error: Array, allowed: Array, unsettled: Array) -> Array:
    same = (a == e) | (np.isnan(a) & np.isnan(e))
    found = np.where(same, 0.0, np.where(np.isfinite(error), error / allowed, np.inf))
    # Where rounding decides whether the value is finite, either answer is right.
    return np.where(unsettled & ~(np.isfinite(a) & np.isfinite(e)), 0.0, found)


def stored_rounding(actual: Array, expected: Array, dtype: str, *, flushed: bool = True) -> Array:
    """Return the error of storing a number in its type, whatever was computed before.

    This is half the distance to the next number of the type. Below the smallest normal number a
    runtime may flush to zero; this does not explain a difference of two nonzero numbers.
    """
    with np.errstate(all="ignore"):
        sizes = np.abs(widen(actual)), np.abs(widen(expected))
        return _rounding(*sizes, dtype, flushed=flushed)


def _rounding(one: Array, two: Array, dtype: str, *, flushed: bool) -> Array:
    info = float_info(dtype)
    smallest = float(info.smallest_normal)
    larger = np.maximum(one, two)
    known = np.where(np.isfinite(larger), larger, 0.0)
    half = 0.5 * float(info.eps) * np.maximum(known, smallest)
    if not flushed:
        return np.asarray(half)
    zero = (np.minimum(one, two) == 0) & (larger <= smallest)
    return np.where(zero, np.maximum(half, smallest), half) if zero.any() else np.asarray(half)
