"""Operators of OpenVINO whose inputs or attributes differ from those of ONNX."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from isomorph.kernels.quantized import requantize
from isomorph.kernels.registry import find, kernel, standard
from isomorph.oracle.call import Call
from isomorph.oracle.dtypes import numpy_dtype
from isomorph.oracle.noise import Array

OPENVINO = "openvino"
"""The domain of these kernels; their names are those of the file."""
ONNX = 22
"""The version of ONNX's operators whose kernels are used."""


def onnx(call: Call, op: str, *inputs: Any, outputs: int = 1, **attributes: Any) -> Any:  # noqa: ANN401
    """An operator of ONNX as the whole of a node."""
    return standard(call, op, *inputs, version=ONNX, outputs=outputs, **attributes)


def numbers(value: Array | None) -> tuple[int, ...]:
    """The whole numbers of a small tensor."""
    return () if value is None else tuple(int(each) for each in np.asarray(value).reshape(-1))


def declared_type(call: Call, place: int = 0) -> np.dtype[Any]:
    """The declared type of an output."""
    return numpy_dtype(call.attributes["output_dtypes"][place])


def _window(call: Call) -> dict[str, Any]:
    names = ("strides", "pads", "dilations", "auto_pad", "output_padding", "kernel_shape",
             "ceil_mode", "count_include_pad")  # fmt: skip
    return {name: call.attributes[name] for name in names if name in call.attributes}


@kernel("GroupConvolution", domain=OPENVINO)
def group_convolution(call: Call, x: Array, w: Array) -> Array:
    """The weights have the groups as their first axis."""
    whole = w.reshape(-1, *w.shape[2:])
    return np.asarray(onnx(call, "Conv", x, whole, **_window(call), group=w.shape[0]))


@kernel("ConvolutionBackpropData", "GroupConvolutionBackpropData", domain=OPENVINO)
def transposed_convolution(call: Call, x: Array, w: Array, size: Array | None = None) -> Array:
    """Of the size that an input may state; groups are the first axis of the weights."""
    groups = 1
    if call.op.startswith("Group"):
        groups, w = w.shape[0], w.reshape(-1, *w.shape[2:])
    given = _window(call)
    if size is not None:
        given["output_shape"] = numbers(size)
    return np.asarray(onnx(call, "ConvTranspose", x, w, **given, group=groups))


@kernel("AdaptiveAvgPool", domain=OPENVINO)
def adaptive_average(call: Call, x: Array, size: Array) -> Array:
    """The mean of as many windows of nearly equal size as the output has elements."""
    counts = numbers(size)
    y = _averaged(x, counts)
    windows = (-(-n // count) for n, count in zip(x.shape[2:], counts, strict=True))
    return call.noise.reduced(y, lambda: _averaged(np.abs(x), counts), math.prod(windows))


def _averaged(x: Array, counts: tuple[int, ...]) -> Array:
    for axis, count in enumerate(counts, start=2):
        n = x.shape[axis]
        edges = [(k * n // count, -(-(k + 1) * n // count)) for k in range(count)]
        parts = [x.take(np.arange(a, b), axis).mean(axis, keepdims=True) for a, b in edges]
        x = np.concatenate(parts, axis)
    return x


@kernel("MaxPool", domain=OPENVINO)
def max_pool(call: Call, x: Array) -> tuple[Array, ...]:
    """With the places of the largest, counted from an axis on."""
    wanted = min(call.outputs, 2)
    found = onnx(call, "MaxPool", x, outputs=wanted, **_window(call), storage_order=0)
    if wanted < 2:
        return (found,)
    inner = math.prod(x.shape[call.attributes.get("axis", 0) :])
    return found[0], (found[1] % max(inner, 1)).astype(declared_type(call, 1))


@kernel("PReLU", domain=OPENVINO)
def prelu(call: Call, x: Array, slope: Array) -> Array:
    """x, or slope·x below zero; a vector has a slope for each channel."""
    if slope.ndim == 1 and slope.size > 1 and x.ndim > 1:
        slope = slope.reshape(-1, *(1,) * (x.ndim - 2))
    return np.asarray(onnx(call, "PRelu", x, slope))


@kernel("LRN", domain=OPENVINO)
def local_response(call: Call, x: Array, axes: Array) -> Array:
    """Divided by a power of the mean square over windows along the given axes."""
    from isomorph.kernels.normalization import over_power

    given, places = call.attributes, _axes(call, x, axes)
    size, total = given["size"], np.asarray(x * x)
    for axis in places:
        width = [(0, 0)] * x.ndim
        width[axis] = (size // 2, size - 1 - size // 2)
        windows = np.lib.stride_tricks.sliding_window_view(np.pad(total, width), size, axis)
        total = windows.sum(-1)
    count = size ** len(places)
    total = call.noise.reduced(total, lambda: total, count)
    base = np.asarray(given["bias"] + given["alpha"] / count * total, x.dtype)
    return over_power(call, x, base, given["beta"])


@kernel("MatMul", domain=OPENVINO)
def matmul(call: Call, a: Array, b: Array) -> Array:
    """A vector is no matrix that could be transposed."""
    if call.attributes["transpose_a"] and a.ndim > 1:
        a = a.swapaxes(-1, -2)
    if call.attributes["transpose_b"] and b.ndim > 1:
        b = b.swapaxes(-1, -2)
    return np.asarray(onnx(call, "MatMul", a, b))


@kernel("Divide", domain=OPENVINO)
def divide(call: Call, a: Array, b: Array) -> Array:
    """Whole numbers are divided as Python does."""
    if np.asarray(a).dtype.kind in "iu" and np.asarray(b).dtype.kind in "iu":
        return np.asarray(np.floor_divide(a, b))
    return np.asarray(onnx(call, "Div", a, b))


@kernel("FloorMod", domain=OPENVINO)
def floor_mod(call: Call, a: Array, b: Array) -> Array:
    """With the sign of the divisor."""
    return call.noise.rounded(np.asarray(np.mod(a, b)))


@kernel("SquaredDifference", domain=OPENVINO)
def squared_difference(call: Call, a: Array, b: Array) -> Array:
    """(a − b)²."""
    away = call.noise.added(np.asarray(a - b), a, b)
    return call.noise.rounded(np.asarray(away * away))


@kernel("NotEqual", domain=OPENVINO)
def not_equal(call: Call, a: Array, b: Array) -> Array:
    """Whether two numbers differ."""
    return np.asarray(a != b)


@kernel("IsFinite", domain=OPENVINO)
def is_finite(call: Call, x: Array) -> Array:
    """Whether a number is neither infinite nor none."""
    return np.isfinite(x)


@kernel("Round", domain=OPENVINO)
def rounding(call: Call, x: Array) -> Array:
    """To the nearest whole number; a tie goes to the even one, or away from zero."""
    if call.attributes.get("mode") == "half_away_from_zero":
        return np.asarray(np.copysign(np.floor(np.abs(x) + 0.5), x))
    return np.rint(x)


@kernel("Selu", domain=OPENVINO)
def selu(call: Call, x: Array, alpha: Array, factor: Array) -> Array:
    """Both numbers are inputs."""
    a, g = (float(np.asarray(each).reshape(-1)[0]) for each in (alpha, factor))
    return np.asarray(onnx(call, "Selu", x, alpha=a, gamma=g))


@kernel("HardSigmoid", domain=OPENVINO)
def hard_sigmoid(call: Call, x: Array, alpha: Array, beta: Array) -> Array:
    """Both numbers are inputs."""
    a, b = (float(np.asarray(each).reshape(-1)[0]) for each in (alpha, beta))
    return np.asarray(onnx(call, "HardSigmoid", x, alpha=a, beta=b))


@kernel("Swish", domain=OPENVINO)
def swish(call: Call, x: Array, beta: Array | None = None) -> Array:
    """X · sigmoid(beta · x)."""
    factor = 1.0 if beta is None else float(np.asarray(beta).reshape(-1)[0])
    return np.asarray(onnx(call, "Swish", x, alpha=factor))


def _axes(call: Call, x: Array, axes: Array) -> tuple[int, ...]:
    return tuple(axis % x.ndim for axis in numbers(axes))


@kernel("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
        domain=OPENVINO)  # fmt: skip
def reduce(call: Call, x: Array, axes: Array) -> Array:
    """Over no axis where none is given."""
    keep = call.attributes["keepdims"]
    given = np.asarray(axes).reshape(-1)
    return np.asarray(onnx(call, call.op, x, given, keepdims=keep, noop_with_empty_axes=1))


@kernel("ReduceLogicalAnd", "ReduceLogicalOr", domain=OPENVINO)
def reduce_truth(call: Call, x: Array, axes: Array) -> Array:
    """Whether all hold, or any."""
    function = np.all if call.op == "ReduceLogicalAnd" else np.any
    return np.asarray(function(x, _axes(call, x, axes), keepdims=bool(call.attributes["keepdims"])))


@kernel("MVN", domain=OPENVINO)
def standardize(call: Call, x: Array, axes: Array) -> Array:
    """Without the mean, and by the deviation; epsilon is added inside the root or outside."""
    from isomorph.kernels.reductions import mean

    noise, given = call.noise, call.attributes
    places = _axes(call, x, axes)
    away = noise.rounded(x - mean(x, places, noise))
    if not given["normalize_variance"]:
        return away
    variance = mean(away * away, places, noise)
    if str(given.get("eps_mode", "")).lower() == "outside_sqrt":
        deviation = np.sqrt(variance) + given["epsilon"]
    else:
        deviation = np.sqrt(variance + given["epsilon"])
    inverse = noise.rounded(np.asarray(1.0 / deviation, dtype=x.dtype))
    return noise.rounded(away * inverse)


@kernel("NormalizeL2", domain=OPENVINO)
def normalize(call: Call, x: Array, axes: Array) -> Array:
    """By the root of the sum of squares, to which epsilon is added, or below which it is not."""
    from isomorph.kernels.reductions import total

    noise, epsilon = call.noise, call.attributes["epsilon"]
    places = _axes(call, x, axes)
    square = total(x * x, places, noise) if places else x * x
    if call.attributes.get("eps_mode") == "max":
        square = np.maximum(square, epsilon)
    else:
        square = square + epsilon
    return noise.rounded(x / noise.rounded(np.sqrt(square)))


@kernel("BatchNormInference", domain=OPENVINO)
def batch_normalization(  # noqa: PLR0917
    call: Call, x: Array, scale: Array, bias: Array, mean: Array, variance: Array
) -> Array:
    """By stored statistics."""
    epsilon = call.attributes["epsilon"]
    return np.asarray(onnx(call, "BatchNormalization", x, scale, bias, mean, variance,
                           epsilon=epsilon))  # fmt: skip


@kernel("RMS", domain=OPENVINO)
def rms(call: Call, x: Array, scale: Array) -> Array:
    """The last axis by its root mean square."""
    epsilon = call.attributes["epsilon"]
    return np.asarray(onnx(call, "RMSNormalization", x, scale, axis=-1, epsilon=epsilon))


@kernel("ScaledDotProductAttention", domain=OPENVINO)
def attention(  # noqa: PLR0917
    call: Call,
    q: Array,
    k: Array,
    v: Array,
    mask: Array | None = None,
    scale: Array | None = None,
) -> Array:
    """softmax(q·kᵀ·scale + mask)·v; a mask of one number is none."""
    from isomorph.kernels.attention import attend

    bias = None
    if mask is not None and np.ndim(mask):
        bias = np.where(mask, 0.0, -np.inf).astype(q.dtype) if mask.dtype == bool else mask
    if call.attributes["is_causal"]:
        ahead = np.arange(k.shape[-2]) > np.arange(q.shape[-2])[:, None]
        bias = np.where(ahead, -np.inf, 0.0).astype(q.dtype)
    factor = 1.0 / math.sqrt(q.shape[-1]) if scale is None else float(np.ravel(scale)[0])
    return attend(q, k, v, call.noise, scale=factor, bias=bias).result


@kernel("FakeQuantize", domain=OPENVINO)
def fake_quantize(  # noqa: PLR0917
    call: Call, x: Array, low: Array, high: Array, out_low: Array, out_high: Array
) -> Array:
    """Onto ``levels`` numbers between two ends, and off them again."""
    last = call.attributes["levels"] - 1
    noise, width = call.noise, np.asarray((high - low) / last)
    if noise.quantizers and np.array_equal(low, out_low) and np.array_equal(high, out_high):
        # A range of levels is a grid of integers with a zero point; the ends need no rounding.
        dtype = "uint16" if last > 255 else "uint8"
        axis = next((k for k, size in enumerate(width.shape) if size > 1), None)
        axis = None if axis is None else axis + x.ndim - width.ndim
        scale, zero = width.reshape(-1), np.asarray(-low / width).reshape(-1)
        steps = requantize(x, scale, zero, dtype, axis, call)
        shape = [1] * x.ndim
        if axis is not None:
            shape[axis] = -1
        return np.asarray((steps - zero.reshape(shape)) * scale.reshape(shape))
    inside = np.clip(x, np.minimum(low, high), np.maximum(low, high))
    steps = np.rint(noise.rounded(np.asarray((inside - low) / width)))
    return noise.rounded(np.asarray(steps * ((out_high - out_low) / last) + out_low, x.dtype))


@kernel("DequantizeLinear", domain=OPENVINO)
def dequantize(call: Call, x: Array, scale: Array, zero: Array | None = None) -> Array:
    """Stored integers as real numbers: one scale, one for each slice of an axis, or for blocks."""
    function = find("", "DequantizeLinear", ONNX)
    assert function is not None, "the kernels are loaded"
    if "block_size" not in call.attributes:
        scale = np.reshape(scale, -1 if np.size(scale) > 1 else ())
        zero = None if zero is None else np.reshape(zero, -1 if np.size(zero) > 1 else ())
    return np.asarray(function(call, x, scale, zero))


@kernel("Assign", domain=OPENVINO)
def assign(call: Call, x: Array) -> Array:
    """What a state will be in the next run; every run of an oracle begins anew."""
    return x


@kernel("ReadValue", domain=OPENVINO)
def read_value(call: Call, first: Array | None = None) -> Array:
    """The state at the beginning of a run: what the input states, else zero."""
    if first is not None:
        return first
    return np.zeros(call.attributes["variable_shape"], declared_type(call))
