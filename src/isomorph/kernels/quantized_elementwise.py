"""ONNX Runtime's quantized operators that work on the reals behind the integers.

Each is dequantize, the float operator, requantize: that is how ONNX Runtime defines them, whatever
tables and fixed-point multipliers its kernels use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from isomorph.kernels.ort.convolution import pool
from isomorph.kernels.quantized import declared_dtype, dequantize, requantize
from isomorph.kernels.registry import kernel
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array

MICROSOFT = "com.microsoft"
_OnReals = Callable[[Call, Array], Array]


@kernel("QLinearAdd", "QLinearMul", domain=MICROSOFT)
def qlinear_binary(  # noqa: PLR0917
    call: Call,
    a: Array,
    a_scale: Array,
    a_zero: Array | None,
    b: Array,
    b_scale: Array,
    b_zero: Array | None,
    c_scale: Array,
    c_zero: Array | None = None,
) -> Array:
    """Sum or product with broadcasting; every grid is per tensor."""
    left, right = dequantize(a, a_scale, a_zero, None), dequantize(b, b_scale, b_zero, None)
    real = left + right if call.op == "QLinearAdd" else left * right
    # A sum that cancels keeps the rounding of its terms, in units of the result's grid.
    largest = np.abs(left) + np.abs(right) if call.op == "QLinearAdd" else None
    real = call.noise.rounded(real, largest)
    target = declared_dtype(call, 7, c_zero, declared_dtype(call, 0, a))
    return requantize(real, c_scale, c_zero, target, None, call)


def _on_reals(op: str) -> Callable[[_OnReals], _OnReals]:
    """Register what an operator of one operand does with the real numbers behind its integers."""

    def register(function: _OnReals) -> _OnReals:
        @kernel(op, domain=MICROSOFT)
        def whole(  # noqa: PLR0917
            call: Call,
            x: Array,
            x_scale: Array,
            x_zero: Array | None,
            y_scale: Array,
            y_zero: Array | None = None,
        ) -> Array:
            real = function(call, dequantize(x, x_scale, x_zero, None))
            return _onto(call, real, x, y_scale, y_zero)

        return function

    return register


@_on_reals("QLinearSigmoid")
def qlinear_sigmoid(call: Call, real: Array) -> Array:
    """1/(1+exp(−x))."""
    with np.errstate(over="ignore"):
        return np.asarray(1.0 / (1.0 + np.exp(-real)))


@_on_reals("QLinearLeakyRelu")
def qlinear_leaky_relu(call: Call, real: Array) -> Array:
    """``alpha`` times whatever is negative."""
    alpha = float(call.attributes.get("alpha", 0.01))
    return np.where(real >= 0, real, alpha * real)


@kernel("QLinearSoftmax", domain=MICROSOFT)
def qlinear_softmax(  # noqa: PLR0917
    call: Call,
    x: Array,
    x_scale: Array,
    x_zero: Array | None,
    y_scale: Array,
    y_zero: Array | None = None,
) -> Array:
    """Along one axis; for an opset below 13 over everything from that axis on."""
    real = dequantize(x, x_scale, x_zero, None)
    axis = int(call.attributes.get("axis", -1)) % real.ndim
    old = int(call.attributes.get("opset", 13)) < 13
    axes = tuple(range(axis, real.ndim)) if old else (axis,)
    powers = np.exp(real - real.max(axis=axes, keepdims=True))
    share = powers / powers.sum(axis=axes, keepdims=True)
    if call.noise.active and not call.noise.quantizers:
        # ONNX Runtime multiplies by the whole part of 1/scale: all shares move together, the
        # largest by up to one quantum.
        share = share * (1.0 + np.asarray(y_scale, np.float64) * call.noise.random.uniform(-1, 1))
    return _onto(call, share, x, y_scale, y_zero)


@_on_reals("QLinearReduceMean")
def qlinear_reduce_mean(call: Call, real: Array) -> Array:
    """Over the stated axes, or over all."""
    axes = tuple(int(axis) for axis in call.attributes.get("axes") or range(real.ndim))
    keep = bool(call.attributes.get("keepdims", 1))
    return np.asarray(real.mean(axis=axes, keepdims=keep))


@_on_reals("QLinearGlobalAveragePool")
def qlinear_global_average_pool(call: Call, real: Array) -> Array:
    """Over the spatial axes."""
    last = bool(call.attributes.get("channels_last", 0))
    axes = tuple(range(1, real.ndim - 1) if last else range(2, real.ndim))
    return np.asarray(real.mean(axis=axes, keepdims=True))


@_on_reals("QLinearAveragePool")
def qlinear_average_pool(call: Call, real: Array) -> Array:
    """Padding, where it counts, counts as the real number zero."""
    given = call.attributes
    last = bool(given.get("channels_last", 0))
    real = np.moveaxis(real, -1, 1) if last else real
    counted = int(given.get("count_include_pad", 0))
    pooled = pool(call, "AveragePool", real, count_include_pad=counted)
    return np.moveaxis(pooled, 1, -1) if last else pooled


@kernel("QLinearConcat", domain=MICROSOFT)
def qlinear_concat(call: Call, y_scale: Array, y_zero: Array, *operands: Any) -> Array:  # noqa: ANN401
    """Operands come in threes: integers, scale, zero point."""
    reals = [
        dequantize(operands[at], operands[at + 1], operands[at + 2], None)
        for at in range(0, len(operands), 3)
    ]
    real = np.concatenate(reals, axis=int(call.attributes["axis"]))
    return requantize(real, y_scale, y_zero, declared_dtype(call, 1, y_zero), None, call)


@kernel("QLinearWhere", domain=MICROSOFT)
def qlinear_where(  # noqa: PLR0917
    call: Call,
    condition: Array,
    x: Array,
    x_scale: Array,
    x_zero: Array,
    y: Array,
    y_scale: Array,
    y_zero: Array,
    z_scale: Array,
    z_zero: Array,
) -> Array:
    """Both branches move onto the grid of the result."""
    real = np.where(
        condition, dequantize(x, x_scale, x_zero, None), dequantize(y, y_scale, y_zero, None)
    )
    return requantize(real, z_scale, z_zero, declared_dtype(call, 8, z_zero), None, call)


def _onto(call: Call, real: Array, x: Array, scale: Array, zero_point: Array | None) -> Array:
    """The result of a one-operand node, on the grid of its inputs 3 and 4."""
    target = declared_dtype(call, 4, zero_point, declared_dtype(call, 0, x))
    return requantize(np.asarray(real), scale, zero_point, target, None, call)
