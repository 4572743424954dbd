"""Edge operators that compute: sums of products, functions, normalizations, reductions.

Each is one of ONNX's operators, or a few of them. Arguments that are no tensors are attributes by
their names in ATen.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from isomorph.kernels.registry import standard
from isomorph.oracle.call import Call, Kernel
from isomorph.oracle.dtypes import numpy_dtype
from isomorph.oracle.noise import Array

VERSION = 17
"""The opset of the operators that are used."""

KERNELS: dict[str, Kernel] = {}
"""The kernel of an edge operator, by its name without namespace and overload."""


def edge(*names: str) -> Callable[[Kernel], Kernel]:
    """Register a kernel under the names of operators."""

    def register(function: Kernel) -> Kernel:
        KERNELS.update(dict.fromkeys(names, function))
        return function

    return register


def onnx(call: Call, op: str, *inputs: Any, outputs: int = 1, **attributes: Any) -> Any:  # noqa: ANN401
    """An operator of ONNX as a part of this node."""
    return standard(call, op, *inputs, version=VERSION, outputs=outputs, **attributes)


def stated(call: Call, name: str, default: Any = None) -> Any:  # noqa: ANN401
    """An attribute, or its default where the program leaves it out."""
    value = call.attributes.get(name)
    return default if value is None else value


def axes_of(value: Any, rank: int) -> tuple[int, ...]:  # noqa: ANN401
    """Axes counted from the start; all of them where none is stated."""
    if value is None or value == ():
        return tuple(range(rank))
    listed = value if isinstance(value, (tuple, list)) else (value,)
    return tuple(int(axis) % max(rank, 1) for axis in listed)


def pair(value: Any, rank: int) -> tuple[int, ...]:  # noqa: ANN401
    """A number for each spatial axis; one stands for all."""
    listed = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    return listed * rank if len(listed) == 1 else listed


@edge("convolution")
def convolution(call: Call, x: Array, w: Array, b: Array | None = None) -> Any:  # noqa: ANN401
    """A convolution, or its adjoint."""
    rank, given = w.ndim - 2, call.attributes
    pads = pair(given["padding"], rank)
    common = {
        "strides": pair(given["stride"], rank),
        "pads": pads + pads,
        "dilations": pair(given["dilation"], rank),
        "group": given["groups"],
    }
    if not given["transposed"]:
        return onnx(call, "Conv", x, w, b, **common)
    extra = pair(given["output_padding"], rank)
    return onnx(call, "ConvTranspose", x, w, b, output_padding=extra, **common)


@edge("linear")
def linear(call: Call, x: Array, w: Array, b: Array | None = None) -> Array:
    """x·wᵀ + b over the last axis."""
    rows = x.reshape(math.prod(x.shape[:-1]), x.shape[-1])
    y = onnx(call, "Gemm", rows, w, b, transB=1)
    return np.asarray(y).reshape(*x.shape[:-1], w.shape[0])


@edge("addmm")
def addmm(call: Call, added: Array, a: Array, b: Array) -> Any:  # noqa: ANN401
    """beta·added + alpha·a·b."""
    factors = {"alpha": float(stated(call, "alpha", 1)), "beta": float(stated(call, "beta", 1))}
    return onnx(call, "Gemm", a, b, added, **factors)


@edge("mm", "bmm")
def product(call: Call, a: Array, b: Array) -> Any:  # noqa: ANN401
    """A matrix product."""
    return onnx(call, "MatMul", a, b)


@edge("_native_batch_norm_legit_no_training")
def batch_normalization(call: Call, x: Array, *rest: Array | None) -> tuple[Array, ...]:
    """By stored statistics; two empty tensors follow."""
    w, b, mean, variance = rest
    w = np.ones(x.shape[1], x.dtype) if w is None else w
    b = np.zeros(x.shape[1], x.dtype) if b is None else b
    y = onnx(call, "BatchNormalization", x, w, b, mean, variance, epsilon=call.attributes["eps"])
    return y, np.zeros(0, x.dtype), np.zeros(0, x.dtype)


@edge("native_layer_norm")
def layer_normalization(
    call: Call, x: Array, w: Array | None = None, b: Array | None = None
) -> Any:  # noqa: ANN401
    """The trailing axes by their own statistics, with mean and inverse deviation."""
    axis = -len(call.attributes["normalized_shape"])
    return onnx(
        call, "LayerNormalization", x, w, b, outputs=3, axis=axis, epsilon=call.attributes["eps"]
    )


@edge("native_group_norm")
def group_normalization(
    call: Call, x: Array, w: Array | None = None, b: Array | None = None
) -> tuple[Array, ...]:
    """Groups of channels by their statistics, with mean and inverse deviation."""
    groups, epsilon = int(call.attributes["group"]), call.attributes["eps"]
    w = np.ones(x.shape[1], x.dtype) if w is None else w
    b = np.zeros(x.shape[1], x.dtype) if b is None else b
    y = onnx(call, "GroupNormalization", x, w, b, num_groups=groups, epsilon=epsilon)
    grouped = x.reshape(x.shape[0], groups, -1)
    return y, grouped.mean(-1), 1.0 / np.sqrt(grouped.var(-1) + epsilon)


def _operands(call: Call, arrays: tuple[Array, ...]) -> tuple[Array, Array]:
    """Two operands of one type; the second may be a stated number."""
    a = np.asarray(arrays[0])
    b = np.asarray(arrays[1] if len(arrays) > 1 else _number(call, a))
    if a.dtype == b.dtype:
        return a, b
    kind = np.result_type(a, b)
    if a.ndim and not b.ndim and (a.dtype.kind == "f" or b.dtype.kind in "iub"):
        kind = a.dtype if a.dtype != bool else kind
    return a.astype(kind), b.astype(kind)


def _number(call: Call, x: Array) -> Array:
    number = call.attributes["other" if "other" in call.attributes else "exponent"]
    kind = x.dtype if isinstance(number, (int, bool)) or x.dtype.kind == "f" else None
    return np.asarray(number, kind if kind != bool else None)


def _scaled(call: Call, x: Array) -> Array:
    alpha = stated(call, "alpha", 1)
    return x if alpha == 1 else np.asarray(onnx(call, "Mul", x, np.asarray(alpha, x.dtype)))


@edge("add", "sub", "rsub", "mul")
def ring(call: Call, *arrays: Array) -> Any:  # noqa: ANN401
    """A sum, difference or product."""
    a, b = _operands(call, arrays)
    op = {"Add": "Add", "Sub": "Sub", "Mul": "Mul"}[call.op]
    if call.domain == "rsub":
        return onnx(call, "Sub", b, _scaled(call, a))
    return onnx(call, op, a, b if op == "Mul" else _scaled(call, b))


@edge("div", "truediv", "floor_divide", "floordiv")
def quotient(call: Call, *arrays: Array) -> Array:
    """A quotient of real numbers, rounded down or toward zero where that is asked for."""
    a, b = _operands(call, arrays)
    how = call.attributes.get("rounding_mode")
    how = "floor" if call.op == "FloorDiv" else how
    if a.dtype.kind in "iub" and how is not None:
        return np.floor_divide(a, b) if how == "floor" else np.asarray(onnx(call, "Div", a, b))
    kind = a.dtype if a.dtype.kind == "f" else np.dtype(np.float64)
    y = np.asarray(onnx(call, "Div", a.astype(kind), b.astype(kind)))
    return y if how is None else np.floor(y) if how == "floor" else np.trunc(y)


@edge("remainder", "mod", "fmod")
def remainder(call: Call, *arrays: Array) -> Any:  # noqa: ANN401
    """With the sign of the divisor, or with that of the dividend."""
    return onnx(call, "Mod", *_operands(call, arrays), fmod=int(call.domain == "fmod"))


@edge("pow")
def power(call: Call, *arrays: Array) -> Any:  # noqa: ANN401
    """A power; the base may be a stated number."""
    if isinstance(call.attributes.get("self"), (int, float)):
        exponent = arrays[0]
        return onnx(call, "Pow", np.asarray(call.attributes["self"], exponent.dtype), exponent)
    return onnx(call, "Pow", *_operands(call, arrays))


@edge("maximum", "minimum", "eq", "lt", "le", "gt", "ge")
def compared(call: Call, *arrays: Array) -> Any:  # noqa: ANN401
    """The larger or smaller of two, or whether one is."""
    return onnx(call, call.op, *_operands(call, arrays))


@edge("ne")
def unequal(call: Call, *arrays: Array) -> Any:  # noqa: ANN401
    """Whether two differ."""
    return np.not_equal(*_operands(call, arrays))


@edge("logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor")
def logic(call: Call, *arrays: Array) -> Any:  # noqa: ANN401
    """A truth value of two, or their bits."""
    a, b = _operands(call, arrays)
    bits = call.domain.startswith("bitwise") and a.dtype != bool
    return onnx(call, f"Bitwise{call.op}" if bits else call.op, a, b)


@edge("logical_not", "bitwise_not")
def negation(call: Call, x: Array) -> Any:  # noqa: ANN401
    """True where false; every bit turned over."""
    bits = call.domain == "bitwise_not" and x.dtype != bool
    return np.bitwise_not(x) if bits else np.logical_not(x)


@edge(
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "erf", "exp",
    "floor", "isinf", "isnan", "log", "neg", "reciprocal", "relu", "round", "sigmoid", "sign",
    "sin", "sinh", "sqrt", "tan", "tanh",
)  # fmt: skip
def unary(call: Call, x: Array) -> Any:  # noqa: ANN401
    """One function of one tensor."""
    real = x.astype(np.float64) if x.dtype.kind != "f" and call.op in _REAL else x
    return onnx(call, call.op, real)


_REAL = frozenset({"Cos", "Erf", "Exp", "Log", "Reciprocal", "Sigmoid", "Sin", "Sqrt", "Tan",
                   "Tanh"})  # fmt: skip
_MORE: dict[str, Callable[[Array], Array]] = {
    "Expm1": np.expm1, "Log10": np.log10, "Log1p": np.log1p, "Log2": np.log2, "Trunc": np.trunc,
}  # fmt: skip


@edge("expm1", "log10", "log1p", "log2", "trunc")
def function_of_one(call: Call, x: Array) -> Array:
    """Functions that ONNX lacks: two roundings of the result."""
    y = np.asarray(_MORE[call.op](x), x.dtype)
    return y if call.op == "Trunc" else call.noise.rounded(y, 2.0 * np.abs(y))


@edge("rsqrt")
def inverse_root(call: Call, x: Array) -> Any:  # noqa: ANN401
    """One over the square root."""
    return onnx(call, "Reciprocal", onnx(call, "Sqrt", x))


@edge("atan2")
def angle(call: Call, a: Array, b: Array) -> Array:
    """The angle of a point."""
    y = np.asarray(np.arctan2(a, b))
    return call.noise.rounded(y, 2.0 * np.abs(y))


@edge("gelu")
def gelu(call: Call, x: Array) -> Any:  # noqa: ANN401
    """By erf, or by the tanh approximation."""
    return onnx(call, "Gelu", x, approximate=stated(call, "approximate", "none"))


@edge("elu")
def elu(call: Call, x: Array) -> Array:
    """Linear above zero, exponential below."""
    scale, inner = stated(call, "scale", 1), stated(call, "input_scale", 1)
    alpha = float(stated(call, "alpha", 1.0))
    if scale == inner == 1:
        return np.asarray(onnx(call, "Elu", x, alpha=alpha))
    y = np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0.0) * inner)) * scale
    return call.noise.rounded(np.asarray(y, x.dtype), 2.0 * (np.abs(y) + abs(scale * alpha)))


@edge("leaky_relu")
def leaky_relu(call: Call, x: Array) -> Any:  # noqa: ANN401
    """x, or a share of it below zero."""
    return onnx(call, "LeakyRelu", x, alpha=float(stated(call, "negative_slope", 0.01)))


@edge("hardtanh")
def hardtanh(call: Call, x: Array) -> Any:  # noqa: ANN401
    """Between two stated bounds."""
    low, high = stated(call, "min_val", -1.0), stated(call, "max_val", 1.0)
    return onnx(call, "Clip", x, np.asarray(low), np.asarray(high))


@edge("clamp")
def clamp(call: Call, x: Array, *bounds: Array | None) -> Any:  # noqa: ANN401
    """Between two bounds, stated or computed; either may be absent."""
    given = [
        np.asarray(value) if (value := call.attributes.get(name)) is not None else None
        for name in ("min", "max")
    ]
    low, high = (*bounds, None, None)[:2] if bounds else given
    y = x if low is None else np.maximum(x, low.astype(x.dtype))
    return y if high is None else np.minimum(y, high.astype(x.dtype))


@edge("glu")
def gated(call: Call, x: Array) -> Any:  # noqa: ANN401
    """One half times the sigmoid of the other."""
    a, b = np.split(x, 2, axis=stated(call, "dim", -1))
    return onnx(call, "Mul", a, onnx(call, "Sigmoid", b))


@edge("_softmax", "_log_softmax")
def softmax(call: Call, x: Array) -> Any:  # noqa: ANN401
    """Along one axis."""
    return onnx(call, call.op, x, axis=int(call.attributes["dim"]))


@edge("mean", "sum", "prod", "amax", "amin")
def reduction(call: Call, x: Array) -> Any:  # noqa: ANN401
    """Over the stated axes, or over all."""
    axes = axes_of(call.attributes.get("dim"), x.ndim)
    keep = int(bool(stated(call, "keepdim", False)))
    wide = x.astype(np.int64) if x.dtype.kind in "iub" and call.op in _WIDENS else x
    if not axes:
        return wide
    return onnx(call, call.op, wide, axes=axes, keepdims=keep)


_WIDENS = frozenset({"ReduceSum", "ReduceProd"})


@edge("max", "min")
def extreme(call: Call, x: Array) -> Any:  # noqa: ANN401
    """Of all, or along an axis with the first place."""
    if call.outputs == 1:
        return x.max() if call.op == "ReduceMax" else x.min()
    axis, keep = int(call.attributes["dim"]), bool(stated(call, "keepdim", False))
    index = np.argmax(x, axis) if call.op == "ReduceMax" else np.argmin(x, axis)
    places = np.expand_dims(index, axis)
    found = np.take_along_axis(x, places, axis)
    return (found, places) if keep else (np.squeeze(found, axis), index)


@edge("any")
def any_true(call: Call, x: Array) -> Array:
    """Whether any is true."""
    axes = axes_of(call.attributes.get("dim"), x.ndim)
    return np.asarray(np.any(x, axis=axes, keepdims=bool(stated(call, "keepdim", False))))


@edge("var")
def variance(call: Call, x: Array) -> Array:
    """The mean square distance from the mean, with a correction of the count."""
    axes = axes_of(call.attributes.get("dim"), x.ndim)
    count = math.prod(x.shape[axis] for axis in axes)
    correction = call.attributes.get("correction", int(stated(call, "unbiased", True)))
    correction = 1 if correction is None else correction
    mean = onnx(call, "ReduceMean", x, axes=axes, keepdims=1)
    away = onnx(call, "Sub", x, mean)
    keep = int(bool(stated(call, "keepdim", False)))
    total = onnx(call, "ReduceSum", onnx(call, "Mul", away, away), axes=axes, keepdims=keep)
    return call.noise.rounded(np.asarray(total / max(count - correction, 0), x.dtype))


@edge("argmax", "argmin")
def place_of_extreme(call: Call, x: Array) -> Any:  # noqa: ANN401
    """The first place of the largest or smallest."""
    axis, keep = call.attributes.get("dim"), int(bool(stated(call, "keepdim", False)))
    flat = x.reshape(-1) if axis is None else x
    return onnx(call, call.op, flat, axis=axis or 0, keepdims=keep)


@edge("cumsum")
def running_sum(call: Call, x: Array) -> Any:  # noqa: ANN401
    """Running sums along an axis."""
    wide = x.astype(np.int64) if x.dtype.kind in "iub" else x
    return onnx(call, "CumSum", wide, np.asarray(call.attributes["dim"]))


@edge("topk")
def top(call: Call, x: Array) -> Any:  # noqa: ANN401
    """The largest or smallest along an axis, with their places."""
    return onnx(
        call, "TopK", x, np.asarray(call.attributes["k"]), outputs=2,
        axis=stated(call, "dim", -1), largest=int(bool(stated(call, "largest", True))),
    )  # fmt: skip


@edge("quantize_per_tensor", "quantize_per_channel", "quantize_per_token")
def quantize(call: Call, x: Array, *grid: Array) -> Array:
    """Onto a grid; a narrower range than the type's ends where it is stated."""
    from isomorph.kernels.quantized import requantize

    scale, zero = _grid(call, grid, x)
    target = call.attributes["target"]
    y = requantize(x, scale, zero, target, call.attributes.get("axis"), call)
    if call.noise.quantizers:
        return y
    low, high = call.attributes["quant_min"], call.attributes["quant_max"]
    return np.clip(y, low, high).astype(numpy_dtype(target))


@edge("dequantize_per_tensor", "dequantize_per_channel", "dequantize_per_token")
def dequantize(call: Call, x: Array, *grid: Array) -> Any:  # noqa: ANN401
    """The real numbers that integers stand for."""
    scale, zero = _grid(call, grid, x)
    axis = call.attributes.get("axis")
    zero = np.asarray(zero).astype(call.input_dtypes[0] or "int8")
    return onnx(call, "DequantizeLinear", x, scale, zero, axis=0 if axis is None else axis)


def _grid(call: Call, grid: tuple[Array, ...], x: Array) -> tuple[Array, Array]:
    """Scale and zero point: tensors, or stated numbers."""
    if grid:
        scale, zero = np.asarray(grid[0]), np.asarray(grid[1] if len(grid) > 1 else 0)
        return (scale, zero) if scale.ndim > 1 or scale.size > 1 else (scale.reshape(()), zero.reshape(()))
    return np.asarray(call.attributes["scale"]), np.asarray(call.attributes["zero_point"])
