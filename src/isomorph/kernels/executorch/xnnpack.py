"""The nodes of an XNNPACK delegate on real numbers; images have their channels last."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from isomorph.kernels.executorch.arithmetic import linear, onnx
from isomorph.kernels.quantized import ideal_rounding
from isomorph.kernels.registry import kernel
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array

XNNPACK = "xnnpack"
"""The domain of the nodes, which are known by the schema's names of their kinds."""

node = partial(kernel, domain=XNNPACK)

_TRANSPOSED = 1
"""The flag of products whose weights are (inputs, outputs)."""
_ALIGN_CORNERS = 8

TFLITE_NAMES = {
    "XNNConv2d": "CONV_2D", "XNNDepthwiseConv2d": "DEPTHWISE_CONV_2D", "XNNMultiply": "MUL",
    "XNNConvTranspose2d": "CONV_2D", "XNNFullyConnected": "FULLY_CONNECTED",
    "XNNBatchMatrixMultiply": "BATCH_MATMUL", "XNNConvert": "QUANTIZE",
    "XNNLeakyReLU": "LEAKY_RELU", "XNNPReLU": "PRELU", "XNNGlobalAvgPooling2d": "MEAN",
}  # fmt: skip
"""Operators of TFLite that XNNPACK computes by the same kernels."""


def clamped(call: Call, y: Array) -> Array:
    """Between the bounds of the activation that is fused into a node."""
    low, high = call.attributes.get("min"), call.attributes.get("max")
    y = y if low is None else np.maximum(y, low)
    return y if high is None else np.minimum(y, high)


@node("XNNAdd", "XNNSubtract", "XNNMultiply", "XNNDiv", "XNNMinimum", "XNNMaximum")
def binary(call: Call, a: Array, b: Array) -> Any:  # noqa: ANN401
    """One operation on two tensors."""
    return onnx(call, _SHORTER.get(call.op, call.op.removeprefix("XNN")), a, b)


@node("XNNFloor", "XNNSquareRoot", "XNNCeiling", "XNNNegate", "XNNAbs", "XNNLog", "XNNTanh",
      "XNNExp", "XNNSin", "XNNCos", "XNNSigmoid", "XNNHardswish")  # fmt: skip
def unary(call: Call, x: Array) -> Any:  # noqa: ANN401
    """One function of one tensor."""
    return onnx(call, _SHORTER.get(call.op, call.op.removeprefix("XNN")), x)


_SHORTER = {
    "XNNSubtract": "Sub", "XNNMultiply": "Mul", "XNNMinimum": "Min", "XNNMaximum": "Max",
    "XNNSquareRoot": "Sqrt", "XNNCeiling": "Ceil", "XNNNegate": "Neg", "XNNHardswish": "HardSwish",
}  # fmt: skip


@node("XNNClamp", "XNNCopy", "XNNConvert", "Boundary")
def same(call: Call, x: Array) -> Array:
    """The same numbers; bounds and grids are applied behind every node."""
    return x


@node("XNNGelu")
def gelu(call: Call, x: Array) -> Any:  # noqa: ANN401
    """By erf."""
    return onnx(call, "Gelu", x, approximate="none")


@node("XNNReciprocalSquareRoot")
def inverse_root(call: Call, x: Array) -> Any:  # noqa: ANN401
    """One over the square root."""
    return onnx(call, "Reciprocal", onnx(call, "Sqrt", x))


@node("XNNSquare")
def square(call: Call, x: Array) -> Any:  # noqa: ANN401
    """The product with itself."""
    return onnx(call, "Mul", x, x)


@node("XNNLeakyReLU")
def leaky_relu(call: Call, x: Array) -> Any:  # noqa: ANN401
    """x, or a share of it below zero."""
    return onnx(call, "LeakyRelu", x, alpha=call.attributes["negative_slope"])


@node("XNNELU")
def elu(call: Call, x: Array) -> Any:  # noqa: ANN401
    """Linear above zero, exponential below."""
    return onnx(call, "Elu", x, alpha=call.attributes["alpha"])


@node("XNNPReLU")
def prelu(call: Call, x: Array, slope: Array) -> Any:  # noqa: ANN401
    """x, or a share of it below zero, by channel."""
    return onnx(call, "PRelu", x, slope)


@node("XNNSoftmax")
def softmax(call: Call, x: Array) -> Any:  # noqa: ANN401
    """Along the last axis."""
    return onnx(call, "Softmax", x, axis=-1)


@node("XNNFullyConnected")
def fully_connected(call: Call, x: Array, w: Array, b: Array | None = None) -> Array:
    """x·wᵀ + b over the last axis."""
    transposed = call.attributes["flags"] & _TRANSPOSED
    return np.asarray(linear(call, x, w.T if transposed else w, b))


@node("XNNBatchMatrixMultiply")
def batch_product(call: Call, a: Array, b: Array) -> Any:  # noqa: ANN401
    """A product for each batch."""
    transposed = call.attributes["flags"] & _TRANSPOSED
    return onnx(call, "MatMul", a, np.swapaxes(b, -1, -2) if transposed else b)


def _window(call: Call) -> dict[str, Any]:
    given = call.attributes
    ends = ("top", "left", "bottom", "right")
    return {
        "kernel_shape": (given["kernel_height"], given["kernel_width"]),
        "strides": (given["stride_height"], given["stride_width"]),
        "pads": tuple(given[f"padding_{end}"] for end in ends),
    }


@node("XNNConv2d", "XNNDepthwiseConv2d", "XNNConvTranspose2d")
def convolution(call: Call, x: Array, w: Array, b: Array | None = None) -> Array:
    """A convolution or its adjoint; the filter is (outputs, height, width, inputs of a group)."""
    given = call.attributes
    groups = given["groups"]
    words = {
        **_window(call),
        "dilations": (given["dilation_height"], given["dilation_width"]),
        "group": groups,
    }
    image, op = np.moveaxis(x, -1, 1), "Conv"
    if call.op == "XNNDepthwiseConv2d":
        w = w.transpose(3, 0, 1, 2)
    elif call.op == "XNNConvTranspose2d":
        op, words["output_padding"] = "ConvTranspose", (
            given["adjustment_height"], given["adjustment_width"],
        )  # fmt: skip
        split = w.reshape(groups, w.shape[0] // groups, *w.shape[1:])
        w = split.transpose(0, 4, 1, 2, 3).reshape(-1, split.shape[1], *w.shape[1:3])
    else:
        w = w.transpose(0, 3, 1, 2)
    return np.moveaxis(np.asarray(onnx(call, op, image, w, b, **words)), 1, -1)


@node("XNNAvgPooling2d", "XNNMaxPooling2d")
def pool(call: Call, x: Array) -> Array:
    """The mean of the part of each window that lies on the image, or the largest of it."""
    words = _window(call)
    op = "MaxPool" if call.op == "XNNMaxPooling2d" else "AveragePool"
    if op == "MaxPool":
        given = call.attributes
        words["dilations"] = (given["dilation_height"], given["dilation_width"])
    else:
        words["count_include_pad"] = 0
    y = onnx(call, op, np.moveaxis(x, -1, 1), **words)
    return np.moveaxis(np.asarray(y), 1, -1)


@node("XNNGlobalAvgPooling2d")
def global_average(call: Call, x: Array) -> Any:  # noqa: ANN401
    """The mean of each channel."""
    return onnx(call, "ReduceMean", x, axes=(1, 2), keepdims=1)


@node("XNNStaticResizeBilinear2D")
def resize(call: Call, x: Array) -> Any:  # noqa: ANN401
    """To a size, linearly."""
    given = call.attributes
    sizes = np.asarray((x.shape[0], given["new_height"], given["new_width"], x.shape[3]))
    corners = given["flags"] & _ALIGN_CORNERS
    mode = "align_corners" if corners else "half_pixel"
    return onnx(
        call, "Resize", x, None, None, sizes, mode="linear", coordinate_transformation_mode=mode
    )


@node("XNNStaticTranspose", "Layout")
def transpose(call: Call, x: Array) -> Array:
    """The axes in another order."""
    return np.transpose(x, call.attributes["perm"])


@node("XNNStaticReshape")
def reshape(call: Call, x: Array) -> Array:
    """Another shape; a size of 0 is what is left."""
    return x.reshape([size or -1 for size in call.attributes["new_shape"]])


@node("XNNStaticConstantPad")
def pad(call: Call, x: Array) -> Any:  # noqa: ANN401
    """Grown by a number."""
    given = call.attributes
    widths = np.asarray((*given["pre_paddings"], *given["post_paddings"]))
    return onnx(call, "Pad", x, widths, np.asarray(given["padding_value"]), mode="constant")


@node("XNNStaticSlice")
def cut(call: Call, x: Array) -> Array:
    """A part of each axis; a size of 0 is what is left."""
    starts, sizes = call.attributes["offsets"], call.attributes["sizes"]
    pairs = zip(starts, sizes, strict=True)
    return x[tuple(slice(start, start + size if size else None) for start, size in pairs)]


@node("XNNConcatenate2", "XNNConcatenate3", "XNNConcatenate4", "XNNConcatenate5")
def concatenate(call: Call, *parts: Array | None) -> Array:
    """One after another."""
    count = int(call.op[-1])
    kept = [part for part in parts if part is not None][:count]
    return np.concatenate(kept, axis=np.int32(call.attributes["axis"]))


def quantized_rows(call: Call, x: Array) -> Array:
    """Real numbers on a grid of 8 bits that each row gets by its own ends, and off it again.

    The rows of the last axis; the grid is moved until zero lies on it, as XNNPACK does.
    """
    if call.noise.quantizers:
        flat = x.reshape(-1, x.shape[-1])
        return x + ideal_rounding(flat, "int8", 0, call).reshape(x.shape)
    low = np.minimum(x.min(axis=-1, keepdims=True), 0.0)
    high = np.maximum(x.max(axis=-1, keepdims=True), 0.0)
    width = np.where(high > low, (high - low) / 255.0, 1.0)
    near, far = -128.0 - low / width, 127.0 - high / width
    zero = np.where((-128.0 + low / width) + (127.0 + high / width) > 0, near, far)
    zero = np.rint(np.clip(zero, -128.0, 127.0))
    steps = call.noise.rounded(np.asarray(x / width))
    return np.asarray((np.clip(np.rint(steps) + zero, -128.0, 127.0) - zero) * width)
