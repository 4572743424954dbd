"""Grids of TFLite tensors, and the operators that only put numbers on them or take them off.

Every operator of a quantised model computes on the real numbers behind its integers and goes
onto its output's grid once. Ties go to the even neighbour here; TFLite's kernels round them away
from zero or upwards, and some round twice, so under noise a tie may go either way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isomorph.kernels.noise import Array
from isomorph.kernels.quantised import dequantise, ideal_rounding, requantise, spread
from isomorph.kernels.table import Call, kernel
from isomorph.kernels.tflite_activations import TFLITE

TIE = 2.0**-16
"""Quanta about a tie within which a fixed-point multiplier may decide either way."""

TABLES: dict[str, float] = {
    "SOFTMAX": 1.0, "LOG_SOFTMAX": 1.0, "LOGISTIC": 1.0, "TANH": 1.0, "HARD_SWISH": 1.0,
    "ELU": 0.5, "GELU": 0.5, "EXP": 0.5, "LOG": 0.5, "RSQRT": 0.5, "L2_NORMALIZATION": 1.0,
    "ADD": 0.5, "SUB": 0.5,
}  # fmt: skip
"""Quanta by which a look-up table or a fixed-point function may miss before it is rounded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Which real numbers the integers of a tensor stand for; ``axis`` None for one scale."""

    dtype: str
    scale: Array
    zero_point: Array
    axis: int | None = None

    def equals(self, other: Grid) -> bool:
        """Whether the same integer means the same real number on both."""
        return (
            self.dtype == other.dtype
            and self.axis == other.axis
            and np.array_equal(self.scale, other.scale)
            and np.array_equal(self.zero_point, other.zero_point)
        )


def reals(integers: Array, grid: Grid) -> Array:
    """The float64 numbers that these integers stand for."""
    return dequantise(integers, grid.scale, grid.zero_point, grid.axis)


def stored_reals(integers: Array, grid: Grid, call: Call) -> Array:
    """The same for stored weights, which get their ideal step where quantisers are disturbed."""
    real = reals(integers, grid)
    if not call.noise.quantisers:
        return real
    return np.asarray(real + ideal_rounding(real, grid.dtype, grid.axis, call))


def onto(real: Array, grid: Grid, call: Call, *, keeps: bool, reach: Array | float) -> Array:
    """Real numbers on the grid.

    ``keeps`` says that the operator only selected numbers which lie on it already. ``reach`` is
    how many quanta the arithmetic of the kernels may be off before it rounds.
    """
    if keeps and call.noise.quantisers:
        width = spread(grid.scale, real.shape, grid.axis)
        return np.asarray(real / width + spread(grid.zero_point, real.shape, grid.axis))
    if call.noise.active and not call.noise.quantisers and not keeps:
        width = spread(grid.scale, real.shape, grid.axis)
        draw = call.noise.random.uniform(-1.0, 1.0, real.shape)
        real = real + draw * np.maximum(reach, TIE) * width
    return requantise(real, grid.scale, grid.zero_point, grid.dtype, grid.axis, call)


def double_rounding(x: Grid, w: Grid, y: Grid) -> Array:
    """Quanta by which the first of two roundings may move a sum of products.

    The kernels multiply the sum by m in [½, 1) and round, then shift by the exponent and round
    again: the first rounding is half a unit of what the shift divides.
    """
    factor = x.scale * w.scale.reshape(-1) / y.scale
    _, exponent = np.frexp(factor)
    return np.asarray(np.where(exponent < 0, 0.5 * np.ldexp(1.0, exponent), 0.0))


@kernel("QUANTIZE", "DENSIFY", domain=TFLITE)
def same(call: Call, x: Array) -> Array:
    """The same real numbers; the output's grid does the rest."""
    return x


@kernel("DEQUANTIZE", domain=TFLITE)
def dequantize(call: Call, x: Array) -> Array:
    """The same real numbers, rounded once into the output's type."""
    return call.noise.rounded(x)


@kernel("FAKE_QUANT", domain=TFLITE)
def fake_quant(call: Call, x: Array) -> Array:
    """Onto a grid and off it again; the grid is moved until zero lies on it."""
    given = call.attributes
    bits, narrow = int(given["num_bits"]), int(bool(given.get("narrow_range")))
    if call.noise.quantisers:
        return np.asarray(x + ideal_rounding(x, f"uint{bits}", None, call))
    least, most = float(narrow), float(2**bits - 1)
    # The options are float32, and so is the grid that the kernels derive from them.
    low, high = np.float32(given["min"]), np.float32(given["max"])
    step = (high - low) / np.float32(most - least)
    zero = np.clip(np.floor(np.float32(least) - low / step + np.float32(0.5)), least, most)
    bottom, top = (np.float32(end - zero) * step for end in (least, most))
    inside = np.clip(x, bottom, top)
    steps = call.noise.rounded(np.asarray((inside - x.dtype.type(bottom)) / x.dtype.type(step)))
    return np.asarray(np.rint(steps) * x.dtype.type(step) + x.dtype.type(bottom), dtype=x.dtype)
