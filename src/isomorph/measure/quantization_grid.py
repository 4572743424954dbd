"""The effect of a quantization grid on the values that pass through it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np

from isomorph.kernels.quantized import dequantize, limits, requantize, spread
from isomorph.oracle.call import Call
from isomorph.oracle.dtypes import numpy_dtype
from isomorph.sessions.dequantized_session import along_axis

if TYPE_CHECKING:
    from isomorph.core.model import Quantization
    from isomorph.core.quantized_tensor import Interval
    from isomorph.core.trace import Array

_QUIET = Call(op="QuantizeLinear")
_ACCUMULATOR_BITS = 32
"""A type this wide belongs to a sum of products, whose step follows from theirs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The measured part of a row of the quantization table."""

    representable: Interval
    seen: Interval | None = None
    clipped: float | None = None
    rectified: float | None = None
    used: float | None = None
    sqnr_db: float | None = None
    ideal_sqnr_db: float | None = None
    factor: float | None = None


class Grid:
    """The real values of the integers of one tensor."""

    def __init__(self, entry: Quantization) -> None:
        self.dtype, self.axis = entry.dtype, entry.axis
        self.scale = np.asarray(entry.scale, np.float64)
        zero = np.asarray(entry.zero_point, np.int64)
        self.zero = zero if zero.size else np.zeros(1, np.int64)
        bounds = limits(entry.dtype)
        self.whole = bounds is not None
        largest = 0.0 if bounds else float(ml_dtypes.finfo(numpy_dtype(entry.dtype)).max)
        self.bounds = (float(bounds[0]), float(bounds[1])) if bounds else (-largest, largest)

    @property
    def representable(self) -> Interval:
        """The smallest and the largest number of any channel."""
        ends = [(bound - self.zero) * self.scale for bound in self.bounds]
        return float(np.min(ends[0])), float(np.max(ends[1]))

    def fits(self, shape: tuple[int, ...]) -> bool:
        """Whether there is one scale, or one for each slice of the axis (not block-wise)."""
        return self.scale.size == 1 or along_axis(shape, self.axis, self.scale.size)

    def figures(self, real: Array, stored: Array | None = None) -> Figures:
        """Measure the values before the quantizer; ``stored`` are those kept in their place."""
        real = np.asarray(real, np.float64)
        real = np.where(np.isfinite(real), real, 0.0)
        if real.size == 0 or not self.fits(real.shape):
            return Figures(representable=self.representable)
        low, high, step = self._ends(real.shape)
        below, above = real < low - 0.5 * step, real > high + 0.5 * step
        # A range that ends at zero acts as a ReLU: quantizing tools rely on saturation for it.
        rectified = (below & (low == 0.0)) | (above & (high == 0.0))
        meant = np.where(rectified, 0.0, real)
        kept = self.round_trip(meant) if stored is None else stored
        ideal = None
        if not self.whole or self.bounds[1] - self.bounds[0] < 2.0**_ACCUMULATOR_BITS - 1:
            ideal = sqnr_db(meant, self._ideal_round_trip(meant))
        return Figures(
            representable=self.representable,
            seen=(float(real.min()), float(real.max())),
            clipped=float(np.mean((below | above) & ~rectified)),
            rectified=float(np.mean(rectified)),
            used=self._used(meant, low, high),
            sqnr_db=sqnr_db(meant, kept),
            ideal_sqnr_db=ideal,
        )

    def round_trip(self, real: Array, reader: Grid | None = None) -> Array:
        """Quantize, and dequantize by the same grid or by a reader's own."""
        integers = requantize(real, self.scale, self._zero, self.dtype, self.axis, _QUIET)
        other = reader or self
        return dequantize(integers, other.scale, other._zero, other.axis)

    def rectified(self, real: Array) -> Array:
        """Clip at an end that is zero, as a ReLU does, without rounding."""
        wide = np.asarray(real, np.float64)
        if not self.fits(wide.shape):
            return wide
        low, high, _ = self._ends(wide.shape)
        wide = np.where(low == 0.0, np.maximum(wide, 0.0), wide)
        return np.where(high == 0.0, np.minimum(wide, 0.0), wide)

    def rounded_from(self, stored: Array) -> tuple[Array, Array]:
        """The smallest and largest real number that each stored one may be rounded from.

        An end of the range has no limit outward. Whoever rounded had the scale in float32.
        """
        real = np.asarray(stored, np.float64)
        low, high, step = self._ends(real.shape)
        most = 0.5 * step + np.abs(real) * float(np.finfo(np.float32).eps)
        below = np.where(real <= low + 0.5 * step, -np.inf, real - most)
        return below, np.where(real >= high - 0.5 * step, np.inf, real + most)

    def steps(self, real: Array) -> Array:
        """Convert real values to steps of the grid, neither rounded nor clipped."""
        step, zero = (spread(each, real.shape, self.axis) for each in (self.scale, self.zero))
        return np.asarray(np.asarray(real, np.float64) / step + zero)

    @property
    def _zero(self) -> Array | None:
        return self.zero if self.whole else None

    def _ends(self, shape: tuple[int, ...]) -> tuple[Array, Array, Array]:
        step = np.asarray(spread(self.scale, shape, self.axis))
        zero = np.asarray(spread(self.zero, shape, self.axis))
        return (self.bounds[0] - zero) * step, (self.bounds[1] - zero) * step, step

    def _channel_range(self, real: Array) -> tuple[Array, Array]:
        others = None
        if self.scale.size > 1 and self.axis is not None:
            others = tuple(k for k in range(real.ndim) if k != self.axis % real.ndim)
        low = real.min(axis=others, keepdims=True, initial=0.0)
        return low, real.max(axis=others, keepdims=True, initial=0.0)

    def _used(self, real: Array, low: Array, high: Array) -> float:
        least, most = self._channel_range(real)
        inside = np.minimum(most, high) - np.maximum(least, low)
        with np.errstate(all="ignore"):
            share = np.where(high > low, inside / (high - low), 0.0)
        return float(np.mean(np.clip(share, 0.0, 1.0)))

    def _ideal_round_trip(self, real: Array) -> Array:
        """Quantize by a range from the smallest to the largest value, including zero."""
        low, high = self._channel_range(real)
        levels = self.bounds[1] - self.bounds[0]
        if not self.whole:
            step = np.maximum(-low, high) / self.bounds[1]
            step = np.where(step == 0.0, 1.0, step)
            return np.asarray(dequantize(
                requantize(real / step, np.ones(1), None, self.dtype, None, _QUIET),
                np.ones(1), None, None) * step)  # fmt: skip
        step = (high - low) / levels
        step = np.where(step == 0.0, 1.0, step)
        zero = np.rint(-low / step)
        return np.asarray((np.clip(np.rint(real / step) + zero, 0.0, levels) - zero) * step)


def sqnr_db(real: Array, kept: Array) -> float | None:
    """Signal over quantization noise; None for a signal of zeros, infinite without noise."""
    signal, noise = float(np.sum(real * real)), float(np.sum((real - kept) ** 2))
    if signal == 0.0:
        return None
    return math.inf if noise == 0.0 else 10.0 * math.log10(signal / noise)
