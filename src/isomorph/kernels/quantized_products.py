"""Products of quantized operands: matrices and convolutions.

Sums of products of integers are exact in every runtime, so they are computed exactly here (in
float64, by BLAS) and carry no noise. What rounds is the step back to reals or to a grid.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from isomorph.kernels.ort.convolution import convolve
from isomorph.kernels.quantized import centered, centered_weights, declared_dtype, requantize
from isomorph.kernels.registry import kernel
from isomorph.oracle.call import Call
from isomorph.oracle.noise import NO_NOISE, Array

MICROSOFT = "com.microsoft"


@kernel("MatMulInteger")
def matmul_integer(
    call: Call, a: Array, b: Array, a_zero: Array | None = None, b_zero: Array | None = None
) -> Array:
    """Zero points per tensor, per row of A, per column of B; int32 wraps."""
    weights = call.of_weights(lambda: centered_weights(b, b_zero, -1, call))
    return _accumulator(call, centered(a, _of_rows(a_zero)) @ weights)


@kernel("MatMulInteger16", domain=MICROSOFT)
def matmul_integer_16(call: Call, a: Array, b: Array) -> Array:
    """Products of 16 bits, sums of 32."""
    return _accumulator(call, a.astype(np.float64) @ b.astype(np.float64))


@kernel("MulInteger", domain=MICROSOFT)
def mul_integer(
    call: Call, a: Array, a_zero: Array | None, b: Array, b_zero: Array | None = None
) -> Array:
    """Elementwise, without requantizing."""
    return _accumulator(call, centered(a, a_zero) * centered_weights(b, b_zero, None, call))


@kernel("ReduceSumInteger", domain=MICROSOFT)
def reduce_sum_integer(call: Call, data: Array) -> Array:
    """Sums of integers in 32 bits."""
    axes = tuple(int(axis) for axis in call.attributes["axes"])
    keep = bool(call.attributes["keepdims"])
    total = data.astype(np.float64).sum(axis=axes, keepdims=keep)
    unsigned = data.dtype.kind == "u"
    return _accumulator(call, total, np.uint32 if unsigned else np.int32)


@kernel("ConvInteger")
def conv_integer(
    call: Call, x: Array, w: Array, x_zero: Array | None = None, w_zero: Array | None = None
) -> Array:
    """Padding stands for the real number zero, that is, for the zero point."""
    weights = call.of_weights(lambda: centered_weights(w, w_zero, 0, call))
    return _accumulator(call, _exact_conv(call, centered(x, x_zero), weights))


@kernel("QLinearMatMul")
def qlinear_matmul(  # noqa: PLR0917
    call: Call,
    a: Array,
    a_scale: Array,
    a_zero: Array | None,
    b: Array,
    b_scale: Array,
    b_zero: Array | None,
    y_scale: Array,
    y_zero: Array | None,
) -> Array:
    """Scales per tensor, per row of A and Y, per column of B."""
    weights = centered_weights(b, b_zero, -1, call, scale=b_scale)
    units = centered(a, _of_rows(a_zero)) @ weights
    real = units * _scales(a_scale, b_scale)
    target = declared_dtype(call, 7, y_zero, declared_dtype(call, 0, a))
    return requantize(real, y_scale, y_zero, target, -2, call)


@kernel("QLinearConv")
@kernel("QLinearConv", domain=MICROSOFT)
def qlinear_conv(  # noqa: PLR0917
    call: Call,
    x: Array,
    x_scale: Array,
    x_zero: Array | None,
    w: Array,
    w_scale: Array,
    w_zero: Array | None,
    y_scale: Array,
    y_zero: Array | None,
    bias: Array | None = None,
) -> Array:
    """Weights per tensor or per output channel; the bias is in units of x_scale·w_scale."""
    last = bool(call.attributes.get("channels_last", 0))
    units_x = centered(x, x_zero)
    units_x = np.moveaxis(units_x, -1, 1) if last else units_x
    weights = centered_weights(w, w_zero, 0, call, scale=w_scale)
    units = _exact_conv(call, units_x, weights)
    along_channels = [-1 if axis == 1 else 1 for axis in range(units.ndim)]
    if bias is not None:
        units = units + bias.astype(np.float64).reshape(along_channels)
    real = units * np.ravel(_scales(x_scale, w_scale)).reshape(along_channels)
    real = np.moveaxis(real, 1, -1) if last else real
    target = declared_dtype(call, 7, y_zero, declared_dtype(call, 0, x))
    return requantize(real, y_scale, y_zero, target, -1 if last else 1, call)


@kernel("QGemm", domain=MICROSOFT)
def qgemm(  # noqa: PLR0917
    call: Call,
    a: Array,
    a_scale: Array,
    a_zero: Array,
    b: Array,
    b_scale: Array,
    b_zero: Array,
    c: Array | None = None,
    y_scale: Array | None = None,
    y_zero: Array | None = None,
) -> Array:
    """C is in units of alpha·a_scale·b_scale; without ``y_scale`` the result stays real."""
    units_a = centered(a, a_zero)
    units_a = units_a.T if call.attributes.get("transA", 0) else units_a
    transposed = bool(call.attributes.get("transB", 0))
    weights = centered_weights(b, b_zero, 0 if transposed else 1, call, scale=b_scale)
    units = units_a @ (weights.T if transposed else weights)
    units = units if c is None else units + c.astype(np.float64)
    step = float(call.attributes.get("alpha", 1.0)) * _scales(a_scale, b_scale)
    real = units * step
    if y_scale is None:
        return _as_real(call, real, a_scale)
    target = declared_dtype(call, 8, y_zero, declared_dtype(call, 0, a))
    return requantize(real, y_scale, y_zero, target, None, call)


@kernel("MatMulIntegerToFloat", domain=MICROSOFT)
def matmul_integer_to_float(  # noqa: PLR0917
    call: Call,
    a: Array,
    b: Array,
    a_scale: Array,
    b_scale: Array,
    a_zero: Array | None = None,
    b_zero: Array | None = None,
    bias: Array | None = None,
) -> Array:
    """A's zero point and scale per tensor, B's per tensor or per column."""
    weights = centered_weights(b, b_zero, -1, call, scale=b_scale)
    units = centered(a, _of_rows(a_zero)) @ weights
    real = units * _scales(a_scale, b_scale)
    if bias is not None:
        real = call.noise.rounded(real) + bias.astype(np.float64)
    return _as_real(call, real, a_scale)


def _exact_conv(call: Call, x: Array, w: Array) -> Array:
    return convolve(replace(call, noise=NO_NOISE), x, w)


def _accumulator(call: Call, units: Array, dtype: Any = np.int32) -> Array:  # noqa: ANN401
    """Wraps as declared; disturbed quantizers have left the grid, and stay off it."""
    if call.noise.quantizers:
        return units
    return units.astype(np.int64).astype(dtype)


def _of_rows(parameter: Array | None) -> Array | None:
    """A parameter of the rows of A, shaped to meet its columns."""
    if parameter is None or np.size(parameter) == 1 or np.ndim(parameter) != 1:
        return parameter
    return parameter[:, None]


def _scales(of_rows: Array, of_columns: Array) -> Array:
    """The step of a product: one number, a row, a column or a matrix."""
    left, right = _of_rows(of_rows), of_columns
    wide = [np.asarray(each).astype(np.float64) for each in (left, right)]
    first, second = (each.reshape(()) if each.size == 1 else each for each in wide)
    return np.asarray(first * second)


def _as_real(call: Call, real: Array, like: Array) -> Array:
    return np.asarray(call.noise.rounded(real).astype(like.dtype))
