"""Constants that a conversion may have rounded again: each moved by one rounding of its type."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from isomorph.oracle.dtypes import is_float
from isomorph.oracle.narrow_storage import disturbed_by_storage
from isomorph.oracle.noise import (
    generator,
    least_rounding,
    spread_evenly,
    unit_roundoff,
)
from isomorph.oracle.rounding_rules import dtype_in_run
from isomorph.oracle.value import EvalValue, lifted

if TYPE_CHECKING:
    from isomorph.core.trace import Arrays, Noise, Value
    from isomorph.oracle.value import Displacement

Array = NDArray[Any]

_PIECE = 1 << 15
"""Numbers that are moved at a time."""

_NORMAL = np.float32(2.0**-126).view(np.uint32)
_HALF_OF_DIGITS = np.float32(2.0**12).view(np.uint32)
"""The bits of two float32: the smallest normal one, and the largest that is no large number."""

_DIGITS = 3
"""Decimal digits of a number that somebody writes down: one in ten thousand others has as few."""
_LARGEST = (65504.0, float(np.finfo(np.float32).max), (2.0 - 2.0**-7) * 2.0**127)
"""The largest finite numbers of float16, float32 and bfloat16."""


def rounded_again(name: str, constant: EvalValue, noise: Noise | None) -> EvalValue:
    """The stored float constant as it is, or disturbed by one rounding where the noise names it.

    A run in a narrower type rounds every constant to it.
    """
    if noise is None or not constant.constant:
        return constant
    if not is_float(constant.dtype) or not isinstance(constant.data, np.ndarray):
        return constant
    narrow = dtype_in_run(constant.dtype, noise)
    moved: Displacement
    if narrow != constant.dtype:
        moved = _Narrowed(constant.data, str(narrow), noise.seed, name)
    elif name in noise.constants:
        moved = _RoundedAgain(constant.data, constant.dtype, noise.seed, name)
    else:
        return constant
    return EvalValue(constant.data, dtype=constant.dtype, constant=True, displacement=moved)


@dataclass(frozen=True, slots=True)
class _RoundedAgain:
    """The displacement of a constant: added to its copy in float64 piece by piece."""

    stored: Array
    dtype: str | None
    seed: int
    name: str

    def shifts(self) -> Array:
        """Return how far each number moves."""
        return rounding_shifts(self.stored, self.dtype, self._random())

    def apply(self, wide: Array) -> None:
        """Move the numbers in float64."""
        move_by_rounding(wide, self.dtype, self._random(), self.stored)

    def _random(self) -> np.random.Generator:
        return generator(self.seed, ("constant", self.name))


@dataclass(frozen=True, slots=True)
class _Narrowed:
    """The displacement of a constant that a run keeps in a narrower type."""

    stored: Array
    dtype: str
    seed: int
    name: str

    def shifts(self) -> Array:
        """Return how far each number moves."""
        return narrowing_shifts(self.stored, self.dtype, generator(self.seed, ("kept", self.name)))

    def apply(self, wide: Array) -> None:
        """Move the numbers in float64."""
        wide += self.shifts()


def narrowing_shifts(values: Array, dtype: str, random: np.random.Generator) -> Array:
    """Return how far keeping numbers in ``dtype`` may move each; not at all where they fit it."""
    wide = lifted(values)
    with np.errstate(invalid="ignore"):
        shifts = disturbed_by_storage(wide, dtype, random) - wide
    return np.asarray(np.where(np.isfinite(shifts), shifts, 0.0))


def rounded_feeds(feeds: Arrays, noise: Noise | None) -> Arrays:
    """The fed tensors, moved as a run in a narrower type rounds them."""
    if noise is None or not noise.run_dtype:
        return feeds
    return {name: _kept(name, value, noise) for name, value in feeds.items()}


def _kept(name: str, value: Value, noise: Noise) -> Value:
    if not isinstance(value, np.ndarray) or value.dtype not in (np.float32, np.float64):
        return value
    shifts = narrowing_shifts(value, noise.run_dtype, generator(noise.seed, ("fed", name)))
    return np.asarray(value + shifts)


def rounding_shifts(values: Array, dtype: str | None, random: np.random.Generator) -> Array:
    """Return how far one rounding of ``dtype`` moves each number, in float64.

    Numbers that somebody wrote down do not move.
    """
    flat = np.ascontiguousarray(values).reshape(-1)
    shifts = np.empty(flat.shape)
    for piece in _pieces(flat.size):
        _shift_piece(flat[piece], dtype, random, shifts[piece])
    return shifts.reshape(values.shape)


def move_by_rounding(
    values: Array, dtype: str | None, random: np.random.Generator, stored: Array
) -> None:
    """Move the float64 ``values`` of the ``stored`` numbers by one rounding of ``dtype``."""
    flat, own = values.reshape(-1), np.ascontiguousarray(stored).reshape(-1)
    shifts = np.empty(min(flat.size, _PIECE))
    for piece in _pieces(flat.size):
        part = flat[piece]
        _shift_piece(own[piece], dtype, random, shifts[: part.size])
        part += shifts[: part.size]


def _pieces(size: int) -> Iterator[slice]:
    """Yield pieces that stay in the cache while they are computed."""
    for start in range(0, size, _PIECE):
        yield slice(start, start + _PIECE)


def _shift_piece(values: Array, dtype: str | None, random: np.random.Generator, out: Array) -> None:
    unit, least = unit_roundoff(dtype), least_rounding(dtype)
    plain = _few_digits_of_float32(values) if values.dtype == np.float32 else None
    if plain is not None and not least:
        # None of these is infinite, and the unit is a power of two: it may be multiplied first.
        steps = spread_evenly(random, values.shape, unit)
        np.copyto(steps, np.float32(0.0), where=plain)
        np.multiply(np.abs(values), steps, out=out, dtype=np.float64)
        return
    np.abs(lifted(values), out=out)
    out *= unit
    if least:
        # A number that underflows is off by more than its digits: an epsilon of 1e-10 in float16.
        np.maximum(out, least, out=out)
    out *= spread_evenly(random, values.shape)
    np.copyto(out, 0.0, where=stands_for_itself(values, unit))
    with np.errstate(invalid="ignore", over="ignore"):
        finite = np.isfinite(np.sum(out))
    if not finite:
        np.copyto(out, 0.0, where=~np.isfinite(out))


def stands_for_itself(values: Array, unit: float) -> Array:
    """Numbers that somebody wrote down, rather than real ones that happened to be rounded.

    Small whole ones: beside an exponent of 2, every power of a negative number is NaN. Small is
    what the type holds with half of its digits to spare: larger numbers are whole for want of
    digits. Other numbers with half of the digits to spare, such as the 0.5 that is added before
    a Floor: beside it every tie is broken. Of large whole numbers, round ones in the decimal
    system and the largest numbers of a type: masks of -1e9 or -3.4e38, whose rounding is larger
    than anything else in the model.
    """
    if values.dtype == np.float32:
        plain = _few_digits_of_float32(values)
        if plain is not None:
            return plain
    values = lifted(values)
    half_of_digits = unit**-0.5
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        whole = values == np.rint(values)
        size = np.abs(values)
        large = whole & (size > half_of_digits)
        if unit > 10.0 ** (-2 * _DIGITS):
            # Every number has so few digits.
            return np.asarray(whole & (~large | np.isin(size, _LARGEST)))
        digits = np.frexp(values)[0] * 2.0 ** math.floor(math.log2(half_of_digits))
        few = np.isfinite(values) & (digits == np.rint(digits))
        if not large.any():
            return np.asarray(few)
        ten = 10.0 ** np.floor(np.log10(np.where(large, size, 1.0)) - _DIGITS + 1)
        round_number = np.rint(size / ten) * ten
        written = np.isin(size, _LARGEST) | (np.abs(round_number - size) <= unit * size)
    return np.asarray(few | (large & written))


def _few_digits_of_float32(values: Array) -> Array | None:
    """Numbers with half of their digits to spare, by their bits; None where those do not tell.

    That is so for subnormal numbers, whose digits begin later, and for large whole ones.
    """
    bits = np.ascontiguousarray(values).view(np.uint32)
    size = bits & np.uint32(0x7FFFFFFF)
    # The bits of positive floats are ordered as the floats are.
    if size.max(initial=0) > _HALF_OF_DIGITS:
        return None
    if size.min(initial=_NORMAL) < _NORMAL and np.any((size < _NORMAL) & (size != 0)):
        return None
    np.bitwise_and(bits, np.uint32(0xFFF), out=size)
    return np.asarray(size == 0).reshape(values.shape)
