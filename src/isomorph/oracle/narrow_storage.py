"""What keeping numbers in a narrow float type may do to them: uniform within one rounding.

Numbers that fit the type stay. They are recognized by their bits, because converting every number
to a type that the CPU does not compute in costs more than all the rest.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isomorph.oracle.dtypes import numpy_dtype
from isomorph.oracle.noise import PIECE, disturb_in_parts, spread_evenly, unit_roundoff

Array = NDArray[Any]

_HALF_RANGE = 1.0 / np.sqrt(3.0)
"""The deviation of numbers that are spread evenly between −1 and 1."""

_FLOAT64_DIGITS = 52
_DIGITS = {"float16": 10, "bfloat16": 7, "tf32": 10}
"""Binary digits behind the point of the types that are recognized by their bits."""
_NORMAL = {
    "float16": (2.0**-14, 65504.0),
    "bfloat16": (2.0**-126, (2.0 - 2.0**-7) * 2.0**127),
    # Only products read their operands so: what float32 does not hold is the product's overflow.
    "tf32": (2.0**-126, np.inf),
}
"""Their smallest and largest normal numbers."""


def disturbed_by_storage(
    values: Array, dtype: str, random: np.random.Generator, scale: float = 1.0
) -> Array:
    """Return real numbers after being kept in ``dtype``, moved by up to ``scale`` roundings.

    Rounding may end at zero and never beyond it: a root or a logarithm may follow.
    """
    wide = np.ascontiguousarray(values, np.float64)
    moved = np.empty_like(wide)
    flat, into = wide.reshape(-1), moved.reshape(-1)

    def move(first: int, last: int, own: np.random.Generator) -> None:
        # Threads do not inherit how errors are handled.
        with np.errstate(over="ignore", invalid="ignore"):
            for start in range(first, last, PIECE):
                piece = slice(start, min(start + PIECE, last))
                _move_piece(flat[piece], dtype, own, scale, into[piece])

    disturb_in_parts(random, flat.size, move)
    return moved.reshape(np.shape(values)).astype(values.dtype, copy=False)


def _move_piece(
    values: Array, dtype: str, random: np.random.Generator, scale: float, out: Array
) -> None:
    size = np.abs(values)
    fits = _fits(values, size, dtype)
    size *= unit_roundoff(dtype)
    np.maximum(size, _least_step(dtype), out=size)
    size *= spread_evenly(random, values.shape, scale * _HALF_RANGE)
    np.copyto(size, 0.0, where=fits)
    np.add(values, size, out=out)
    np.copyto(out, 0.0, where=np.signbit(out) != np.signbit(values))
    np.copyto(out, values, where=fits)


@cache
def _least_step(dtype: str) -> float:
    """Below the smallest normal number the spacing no longer shrinks with the number."""
    if dtype in _NORMAL:
        return unit_roundoff(dtype) * _NORMAL[dtype][0]
    import ml_dtypes

    return unit_roundoff(dtype) * float(ml_dtypes.finfo(numpy_dtype(dtype)).smallest_normal)


def _fits(values: Array, size: Array, dtype: str) -> Array:
    """Where a number is one of the type, or none at all (infinite, NaN)."""
    digits = _DIGITS.get(dtype)
    smallest, largest = _NORMAL.get(dtype, (np.inf, 0.0))
    largest_here = np.max(size, initial=0.0)
    if digits is None or (largest < np.inf and not largest_here <= largest):
        return np.asarray((values.astype(numpy_dtype(dtype)) == values) | ~np.isfinite(values))
    spare = np.uint64((1 << (_FLOAT64_DIGITS - digits)) - 1)
    fits = np.asarray((values.view(np.uint64) & spare) == 0)
    below = size < smallest
    if below.any():
        steps = values[below] * (2.0**digits / smallest)
        fits[below] = steps == np.rint(steps)
    return fits if np.isfinite(largest_here) else fits | ~np.isfinite(values)
