"""Weights that were rounded to a narrower type or quantized, and are stored in a wider type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.chance import FALSE_ALARM
from isomorph.core.stated_numbers import OPERATION_ROUNDINGS
from isomorph.oracle.noise import least_rounding, unit_roundoff

if TYPE_CHECKING:
    from isomorph.core.trace import Array

_WIDTHS = (4, 8, 16)
"""Bits of the integers that converters quantize weights to."""
_SYMMETRIC = tuple(2 ** (bits - 1) - less for bits in _WIDTHS for less in (1, 0))
"""The largest integers of symmetric quantizations: the largest weight is that many steps."""
_RANGES = tuple(2**bits - 1 for bits in _WIDTHS)
"""Steps between the smallest and the largest number of an unsigned quantization."""
_ROUNDINGS = 2 * OPERATION_ROUNDINGS * unit_roundoff("float32")
"""Roundings of the product of an integer and a scale, and of the quotient that recovers it."""


def is_narrow(dtype: str) -> bool:
    """Whether a type is a float with less precision than float32."""
    return unit_roundoff(dtype) > unit_roundoff("float32")


def rounded_once(expected: Array, actual: Array, dtype: str) -> bool:
    """Whether numbers of a narrow float type are the nearest ones to the expected numbers.

    These may have been computed in float32 before. One repeated number tells nothing of its origin,
    unless it is zero: a factor of 1 in float16 may come from 0.99999.
    """
    if expected.shape != actual.shape or not (np.isfinite(expected) & np.isfinite(actual)).all():
        return False
    if actual.size > 1 and np.all(actual == actual.flat[0]) and np.any(actual):
        return False
    with np.errstate(divide="ignore"):
        exponent = np.floor(np.log2(np.abs(actual)))
    half = np.maximum(unit_roundoff(dtype) * np.exp2(exponent), least_rounding(dtype))
    return bool(np.all(np.abs(expected - actual) <= half + _ROUNDINGS * np.abs(expected)))


def same_in_float32(one: Array, two: Array) -> bool:
    """Whether two arrays hold the same numbers up to roundings of float32."""
    return one.shape == two.shape and bool(np.all(np.abs(one - two) <= _ROUNDINGS * np.abs(one)))


def narrowed(values: Array, dtype: str) -> Array:
    """Round float64 numbers once to a float type."""
    if dtype == "bfloat16":
        import ml_dtypes

        kind: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    elif dtype in {"float16", "float32"}:
        kind = np.dtype(dtype)
    else:
        return values
    with np.errstate(over="ignore"):
        return values.astype(kind).astype(np.float64)


def steps_of(values: Array) -> Iterator[Array]:
    """Yield the steps of every quantization that fits all values, per tensor or per channel."""
    if not values.size or not np.isfinite(values).all():
        return
    for axis in (None, *range(values.ndim if values.ndim > 1 else 0)):
        others = tuple(each for each in range(values.ndim) if each != axis)
        low, high = values.min(axis=others, keepdims=True), values.max(axis=others, keepdims=True)
        largest = np.maximum(np.abs(low), np.abs(high))
        for count in _SYMMETRIC:
            if _lie_on(values, largest / count, count, ends=1):
                yield largest / count
        for count in _RANGES:
            if _lie_on(values - low, (high - low) / count, count, ends=2):
                yield (high - low) / count


def _lie_on(values: Array, steps: Array, count: int, ends: int) -> bool:
    """Whether all values are multiples of the step, and more of them than chance explains."""
    with np.errstate(all="ignore"):
        places = values / np.where(steps > 0.0, steps, 1.0)
    bound = count * _ROUNDINGS
    telling = np.count_nonzero(np.rint(places)) - ends * steps.size
    if telling <= 0 or (2.0 * bound) ** telling > FALSE_ALARM:
        return False
    return bool(np.all(np.abs(places - np.rint(places)) <= bound))
