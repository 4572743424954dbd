"""Edge operators that compute: sums of products, functions, normalizations, reductions.

Each is one of ONNX's operators, or a few of them. Arguments that are no tensors are attributes by
their names in ATen.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from isomorph.kernels.registry import kernel, standard
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array

VERSION = 17
"""The opset of the operators that are used."""

EDGE = "executorch"
"""The domain of edge operators, which are known by their names without namespace and overload."""

edge = partial(kernel, domain=EDGE)
onnx = partial(standard, version=VERSION)
"""An operator of ONNX as a part of a node."""


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
    alpha, beta = float(stated(call, "alpha", 1)), float(stated(call, "beta", 1))
    return onnx(call, "Gemm", a, b, added, alpha=alpha, beta=beta)


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
    same = x.dtype.kind == "f" or (x.dtype.kind in "iu" and isinstance(number, int))
    return np.asarray(number, x.dtype if same else None)


def _scaled(call: Call, x: Array) -> Array:
    alpha = stated(call, "alpha", 1)
    return x if alpha == 1 else np.asarray(onnx(call, "Mul", x, np.asarray(alpha, x.dtype)))


@edge("add", "sub", "rsub", "mul")
def ring(call: Call, *arrays: Array) -> Any:  # noqa: ANN401
    """A sum, difference or product."""
    a, b = _operands(call, arrays)
    if call.op == "rsub":
        return onnx(call, "Sub", b, _scaled(call, a))
    return onnx(call, call.op.capitalize(), a, b if call.op == "mul" else _scaled(call, b))


@edge("div", "truediv", "floor_divide", "floordiv")
def quotient(call: Call, *arrays: Array) -> Array:
    """A quotient of real numbers, rounded down or toward zero where that is asked for."""
    a, b = _operands(call, arrays)
    how = call.attributes.get("rounding_mode")
    how = "floor" if call.op in ("floor_divide", "floordiv") else how
    if a.dtype.kind in "iub" and how is not None:
        return np.floor_divide(a, b) if how == "floor" else np.asarray(onnx(call, "Div", a, b))
    kind = a.dtype if a.dtype.kind == "f" else np.dtype(np.float64)
    y = np.asarray(onnx(call, "Div", a.astype(kind), b.astype(kind)))
    return y if how is None else np.floor(y) if how == "floor" else np.trunc(y)


@edge("remainder", "mod", "fmod")
def remainder(call: Call, *arrays: Array) -> Any:  # noqa: ANN401
    """With the sign of the divisor, or with that of the dividend."""
    return onnx(call, "Mod", *_operands(call, arrays), fmod=int(call.op == "fmod"))


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
    return onnx(call, _COMPARISONS[call.op], *_operands(call, arrays))


_COMPARISONS = {
    "maximum": "Max", "minimum": "Min", "eq": "Equal", "lt": "Less", "le": "LessOrEqual",
    "gt": "Greater", "ge": "GreaterOrEqual",
}  # fmt: skip


@edge("ne")
def unequal(call: Call, *arrays: Array) -> Any:  # noqa: ANN401
    """Whether two differ."""
    return np.not_equal(*_operands(call, arrays))


@edge("logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor")
def logic(call: Call, *arrays: Array) -> Any:  # noqa: ANN401
    """A truth value of two, or their bits."""
    a, b = _operands(call, arrays)
    kind, word = call.op.split("_")
    bits = kind == "bitwise" and a.dtype != bool
    return onnx(call, f"{'Bitwise' if bits else ''}{word.capitalize()}", a, b)


@edge("logical_not", "bitwise_not")
def negation(call: Call, x: Array) -> Any:  # noqa: ANN401
    """True where false; every bit turned over."""
    bits = call.op == "bitwise_not" and x.dtype != bool
    return np.bitwise_not(x) if bits else np.logical_not(x)


@edge(
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "erf", "exp",
    "floor", "isinf", "isnan", "log", "neg", "reciprocal", "relu", "round", "sigmoid", "sign",
    "sin", "sinh", "sqrt", "tan", "tanh",
)  # fmt: skip
def unary(call: Call, x: Array) -> Any:  # noqa: ANN401
    """One function of one tensor."""
    op = {"isinf": "IsInf", "isnan": "IsNaN"}.get(call.op, call.op.capitalize())
    keeps = op in ("Abs", "Neg", "Sign", "Relu", "Floor", "Ceil", "Round") or x.dtype.kind == "f"
    return onnx(call, op, x if keeps else x.astype(np.float64))


_MORE: dict[str, Callable[[Array], Array]] = {
    "expm1": np.expm1, "log10": np.log10, "log1p": np.log1p, "log2": np.log2, "trunc": np.trunc,
}  # fmt: skip


@edge("expm1", "log10", "log1p", "log2", "trunc")
def function_of_one(call: Call, x: Array) -> Array:
    """Functions that ONNX lacks: two roundings of the result."""
    y = np.asarray(_MORE[call.op](x), x.dtype)
    return y if call.op == "trunc" else call.noise.rounded(y, 2.0 * np.abs(y))


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
    op = "Softmax" if call.op == "_softmax" else "LogSoftmax"
    return onnx(call, op, x, axis=int(call.attributes["dim"]))


@edge("mean", "sum", "prod", "amax", "amin")
def reduction(call: Call, x: Array) -> Any:  # noqa: ANN401
    """Over the stated axes, or over all."""
    axes = axes_of(call.attributes.get("dim"), x.ndim)
    keep = int(bool(stated(call, "keepdim", False)))
    wide = x.astype(np.int64) if x.dtype.kind in "iub" and call.op in ("sum", "prod") else x
    if not axes:
        return wide
    word = call.op.removeprefix("a").capitalize()
    return onnx(call, f"Reduce{word}", wide, axes=axes, keepdims=keep)


@edge("max", "min")
def extreme(call: Call, x: Array) -> Any:  # noqa: ANN401
    """Of all, or along an axis with the first place."""
    if call.outputs == 1:
        return x.max() if call.op == "max" else x.min()
    axis, keep = int(call.attributes["dim"]), bool(stated(call, "keepdim", False))
    index = np.argmax(x, axis) if call.op == "max" else np.argmin(x, axis)
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
    op = "ArgMax" if call.op == "argmax" else "ArgMin"
    return onnx(call, op, flat, axis=axis or 0, keepdims=keep)


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
