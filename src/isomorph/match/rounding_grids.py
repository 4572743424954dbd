"""The scale or the zero point with which the integers of a weight were rounded from real numbers.

A quantizer stores rint(x / s) + z. So each integer tells an interval in which the scale lies that
it was rounded with, and all integers of a channel tell a narrow one. Integers that were rounded to
the nearest with the stated scale have it in that interval; learned roundings leave none. Where
there is one and the stated scale is not in it, the scale is not the one of these integers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np

from isomorph.core.chance import FALSE_ALARM
from isomorph.core.stated_numbers import OPERATION_ROUNDINGS
from isomorph.match.element_bounds import grid_ends, grid_steps
from isomorph.oracle.noise import unit_roundoff

if TYPE_CHECKING:
    from isomorph.core.model import Quantization
    from isomorph.core.trace import Array
    from isomorph.match.element_bounds import Source

_FLOAT32 = unit_roundoff("float32")
_ROUNDED = OPERATION_ROUNDINGS * _FLOAT32
_HALVES = {"float16": np.dtype(np.float16), "bfloat16": np.dtype(ml_dtypes.bfloat16)}
_SUM_BITS = 16
"""Integers of more bits belong to a bias, and no range clips them on purpose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherGrid:
    """The grid that the integers were rounded with, where it is not the stated one.

    ``beyond`` marks the numbers that the stated grid does not explain, ``moved`` all numbers of
    their channels. ``factor`` (of the scale) or ``shift`` (of the zero point) leads from the stated
    grid to the other one, in the channel that is farthest off.
    """

    beyond: Array = field(repr=False)
    moved: Array = field(repr=False)
    factor: float = 1.0
    shift: int = 0

    @property
    def too_large(self) -> bool | None:
        """Whether the numbers are too large, and not too small; None where they are shifted."""
        return None if self.shift else self.factor < 1.0

    @property
    def text(self) -> str:
        """What is wrong with the stated grid, as text for a report."""
        if self.shift:
            return f"its zero point is {-self.shift:+d} off that of its integers"
        return f"its scale is {1.0 / self.factor:.4g} times that of its integers"


def other_grid(
    grid: Quantization, expected: Array, integers: Array, source: Source
) -> OtherGrid | None:
    """Return the grid with which the integers were rounded from ``expected``, if it is another.

    None where the stated grid may be right, and where no grid explains all integers.
    """
    if not np.isfinite(expected).all() or min(grid.scale) <= 0.0:
        return None
    rounded = _Rounded.of(grid, expected, integers, source)
    wrong = rounded.beyond
    if not wrong.any():
        return None
    return _other_scale(rounded, wrong, _scale_error(grid)) or _other_zero(rounded, wrong)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rounded:
    """Real numbers in steps of the stated grid, and the steps that were stored for them.

    ``cut_above`` and ``cut_below`` mark numbers at the ends, which may have been clipped.
    """

    real: Array
    error: Array
    stored: Array
    cut_above: Array
    cut_below: Array
    axis: int | None

    @classmethod
    def of(cls, grid: Quantization, expected: Array, integers: Array, source: Source) -> _Rounded:
        shape = expected.shape
        steps, zeros = grid_steps(grid, shape), _zeros(grid, shape)
        stored = integers.astype(np.float64) - zeros
        narrow = unit_roundoff(source.dtype)
        relative = 2.0 * _ROUNDED + source.relative_bound + (narrow if narrow > _FLOAT32 else 0.0)
        error = relative * np.abs(expected) + source.half_step + source.error_bound
        low, high = grid_ends(grid)
        if high - low < 2**_SUM_BITS:
            low, high = int(integers.min()), int(integers.max())
        return cls(
            real=expected / steps,
            error=np.asarray(error / steps + _ROUNDED * (np.abs(stored) + np.abs(zeros))),
            stored=stored,
            cut_above=integers >= high,
            cut_below=integers <= low,
            axis=None if len(grid.scale) == 1 or grid.axis is None else grid.axis % len(shape),
        )

    @property
    def beyond(self) -> Array:
        """Which numbers are farther from what is stored for them than rounding moves one."""
        apart = self.real - self.stored
        above = (apart > 0.5 + self.error) & ~self.cut_above
        return np.asarray(above | ((apart < -0.5 - self.error) & ~self.cut_below))

    def factors(self) -> tuple[Array, Array]:
        """Return the least and the largest factor of the scale that explains each integer.

        For a factor f, the number x is rounded to n where f·(n − ½) ≤ x ≤ f·(n + ½).
        """
        low, high = np.zeros(self.real.shape), np.full(self.real.shape, np.inf)
        ends = (
            (self.stored + 0.5, self.real - self.error, self.cut_above, 1.0),
            (self.stored - 0.5, self.real + self.error, self.cut_below, -1.0),
        )
        for end, real, free, side in ends:
            ratio = real / end
            least, most = (side * end > 0.0) & ~free, (side * end < 0.0) & ~free
            low = np.where(least, np.maximum(low, ratio), low)
            high = np.where(most, np.minimum(high, ratio), high)
        return low, high

    def shifts(self) -> tuple[Array, Array]:
        """Return the least and the largest shift of the zero point that explains each integer."""
        apart = self.stored - self.real
        low = np.where(self.cut_below, -np.inf, apart - 0.5 - self.error)
        return low, np.where(self.cut_above, np.inf, apart + 0.5 + self.error)

    def by_channel(self, function: np.ufunc, values: Array) -> Array:
        """Reduce the numbers of each channel; the axes are kept."""
        others = tuple(each for each in range(values.ndim) if each != self.axis)
        return np.asarray(function.reduce(values, axis=others, keepdims=True))


def _other_scale(rounded: _Rounded, wrong: Array, scale_error: float) -> OtherGrid | None:
    """Return the factors with which the scales explain all integers, if chance does not."""
    low, high = rounded.factors()
    least, most = rounded.by_channel(np.maximum, low), rounded.by_channel(np.minimum, high)
    if np.any(least > most):
        return None
    channels = (least > 1.0 + scale_error) | (most < 1.0 - scale_error)
    if not channels.any():
        return None
    one = float(least.max()) <= float(most.min())
    if one:  # one factor explains all channels
        least, most = np.full(least.shape, least.max()), np.full(most.shape, most.min())
        channels = (least > 1.0 + scale_error) | (most < 1.0 - scale_error)
    factors = np.where(np.isfinite(most), 0.5 * (least + most), least)
    beyond = wrong & channels
    unlikely = unlikely_by_chance(high - low, np.abs(factors - 1.0), beyond)
    fitted = np.max(unlikely) if one else np.sum(rounded.by_channel(np.maximum, unlikely))
    if float(np.sum(unlikely) - fitted) < -math.log(FALSE_ALARM):
        return None
    farthest = int(np.argmax(np.abs(np.log(np.where(channels, factors, 1.0)))))
    moved = np.broadcast_to(channels, wrong.shape)
    return OtherGrid(beyond=beyond, moved=moved, factor=float(factors.flat[farthest]))


def _other_zero(rounded: _Rounded, wrong: Array) -> OtherGrid | None:
    """Return the shifts with which the zero points explain all integers, if chance does not."""
    low, high = rounded.shifts()
    least, most = rounded.by_channel(np.maximum, low), rounded.by_channel(np.minimum, high)
    with np.errstate(invalid="ignore"):
        shifts = np.where((least <= 0.0) & (most >= 0.0), 0.0, np.rint(0.5 * (least + most)))
    if not np.all((least <= shifts) & (shifts <= most)) or not shifts.any():
        return None
    beyond = wrong & (shifts != 0.0)
    unlikely = unlikely_by_chance(high - low, np.abs(shifts), beyond)
    fitted = rounded.by_channel(np.maximum, unlikely)
    if float(np.sum(unlikely) - np.sum(fitted)) < -math.log(FALSE_ALARM):
        return None
    moved = np.broadcast_to(shifts != 0.0, wrong.shape)
    farthest = int(np.argmax(np.abs(shifts)))
    return OtherGrid(beyond=beyond, moved=moved, shift=int(shifts.flat[farthest]))


def unlikely_by_chance(width: Array, apart: Array, beyond: Array) -> Array:
    """Return how unlikely it is that another rounding of each number looks like another grid.

    As the negative logarithm of a probability. A learned rounding moves a number by up to a step,
    up or down: another grid explains it once in two times. A number that was moved by n steps for
    another reason is where the grid explains it once in 2n times. What determines the grid must be
    left out of a sum.
    """
    with np.errstate(all="ignore"):
        chance = np.minimum(0.5, width / (2.0 * np.where(apart > 0.0, apart, np.inf)))
    return -np.log(np.where(beyond, np.maximum(chance, FALSE_ALARM), 1.0))


def _zeros(grid: Quantization, shape: tuple[int, ...]) -> Array:
    """Return the zero point of each element, as an array that broadcasts to ``shape``."""
    zeros = np.asarray(grid.zero_point or (0,), np.float64)
    if zeros.size == 1 or grid.axis is None:
        return np.full((1,) * len(shape), zeros.flat[0])
    axis = grid.axis % len(shape)
    return zeros.reshape([-1 if each == axis else 1 for each in range(len(shape))])


def _scale_error(grid: Quantization) -> float:
    """Return how far the stated scales may be from those that were used, relative to them.

    Scales that a narrow type can hold may have been rounded to it after the integers were made.
    """
    scales = np.asarray(grid.scale, np.float64)
    for dtype, kind in _HALVES.items():
        with np.errstate(over="ignore"):
            if np.array_equal(scales.astype(kind).astype(np.float64), scales):
                return unit_roundoff(dtype) + _ROUNDED
    return _ROUNDED
