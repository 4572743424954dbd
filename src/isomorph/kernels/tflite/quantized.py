"""Grids of TFLite tensors, and the operators that only put numbers on them or take them off.

Every operator of a quantized model computes on the real numbers behind its integers and goes
onto its output's grid once. Ties go to the even neighbor here; TFLite's kernels round them away
from zero or upwards, and some round twice, so under noise a tie may go either way.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.kernels.quantized import dequantize, ideal_rounding, requantize, spread
from isomorph.kernels.registry import kernel
from isomorph.kernels.tflite.activations import TFLITE
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array

if TYPE_CHECKING:
    from isomorph.oracle.step import View
    from isomorph.oracle.value import EvalValue
    from isomorph.oracle.weights import WeightCache

TIE = 2.0**-14
"""Quanta about a tie within which any kernel may decide either way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Which real numbers the integers of a tensor stand for; ``axis`` None for one scale.

    With ``block``, that many neighbors along the axis have one scale.
    """

    dtype: str
    scale: Array
    zero_point: Array
    axis: int | None = None
    block: int = 0

    def equals(self, other: Grid) -> bool:
        """Whether the same integer means the same real number on both."""
        return (
            self.dtype == other.dtype
            and (self.axis, self.block) == (other.axis, other.block)
            and np.array_equal(self.scale, other.scale)
            and np.array_equal(self.zero_point, other.zero_point)
        )


def reals(integers: Array, grid: Grid) -> Array:
    """The float64 numbers that these integers stand for."""
    return dequantize(integers, grid.scale, grid.zero_point, grid.axis, block=grid.block)


def quanta(real: Array, grid: Grid) -> Array:
    """The steps of the grid that real numbers are, not rounded; none where a step is zero."""
    width = np.broadcast_to(spread(grid.scale, real.shape, grid.axis, grid.block), real.shape)
    steps = np.divide(real, width, out=np.zeros(real.shape), where=width != 0.0)
    return np.asarray(steps + spread(grid.zero_point, real.shape, grid.axis, grid.block))


def stored_reals(integers: Array, grid: Grid, call: Call) -> Array:
    """The same for stored weights, which get their ideal step where quantizers are disturbed."""
    real = reals(integers, grid)
    if not call.noise.quantizers:
        return real
    return np.asarray(real + ideal_rounding(real, grid.dtype, grid.axis, call, block=grid.block))


def real_operands(
    ends: Iterable[tuple[Hashable, EvalValue, Grid | None]],
    weights: WeightCache[Any],
    view: View,
    noise: Any,  # noqa: ANN401
) -> list[Any]:
    """The inputs of a node by their keys, in real numbers where they lie on a grid.

    What is made of a stored tensor is kept in ``weights`` under its key.
    """
    return [
        view(value)
        if grid is None or not isinstance(value.data, np.ndarray)
        else _real(key, value, grid, weights, noise)
        for key, value, grid in ends
    ]


def _real(
    key: Hashable,
    value: EvalValue,
    grid: Grid,
    weights: WeightCache[Any],
    noise: Any,  # noqa: ANN401
) -> Array:
    if not value.constant or value.data.dtype == np.float64:
        return reals(value.data, grid)
    if not noise.quantizers or grid.dtype in ("int32", "int64"):
        array: Array = weights.derived(key, id(grid), value, lambda: reals(value.data, grid))
        return array
    # The step of a stored tensor belongs to the tensor: everyone who reads it sees the same.
    noise.enter(("stored", *(key if isinstance(key, tuple) else (key,))), noise.unit)
    return stored_reals(value.data, grid, Call(op="stored", noise=noise))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How far the integer arithmetic of a kernel may be off before it rounds.

    ``quanta`` of the output, one number or one per channel; and a share of the result, where a
    multiplier is cut short. ``step`` is the output's where the format fixes it: there no
    quantizer of this width can be finer, whatever range the values fill.
    """

    quanta: Array | float = TIE
    share: float = 0.0
    step: float = 0.0


def onto(real: Array, grid: Grid, call: Call, *, keeps: bool, reach: Reach) -> Array:
    """Real numbers on the grid.

    ``keeps``: the operator only selected numbers which lie on it already.
    """
    if keeps and call.noise.quantizers:
        width = spread(grid.scale, real.shape, grid.axis)
        return np.asarray(real / width + spread(grid.zero_point, real.shape, grid.axis))
    if call.noise.active and not call.noise.quantizers and not keeps:
        width = spread(grid.scale, real.shape, grid.axis)
        draw = call.noise.random.uniform(-1.0, 1.0, real.shape)
        real = real + draw * (reach.quanta * width + reach.share * np.abs(real))
    return requantize(
        real, grid.scale, grid.zero_point, grid.dtype, grid.axis, call, least_step=reach.step
    )


def kept(real: Array, grid: Grid | None, call: Call) -> Array:
    """Onto a grid and off it again, as a state that is kept in integers between two steps."""
    if grid is None:
        return real
    return reals(onto(real, grid, call, keeps=False, reach=Reach()), grid)


@kernel("QUANTIZE", "DENSIFY", domain=TFLITE)
def same(call: Call, x: Array) -> Array:
    """The same real numbers; the output's grid does the rest."""
    return x


@kernel("DEQUANTIZE", domain=TFLITE)
def dequantize_op(call: Call, x: Array) -> Array:
    """The same real numbers, rounded once into the output's type."""
    return call.noise.rounded(x)


@kernel("FAKE_QUANT", domain=TFLITE)
def fake_quant(call: Call, x: Array) -> Array:
    """Onto a grid and off it again; the grid is moved until zero lies on it."""
    given = call.attributes
    bits, narrow = int(given["num_bits"]), int(bool(given.get("narrow_range")))
    if call.noise.quantizers:
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
