"""TFLite's pooling and resizing of NHWC images."""

from __future__ import annotations

import numpy as np

from isomorph.kernels.data_movement import integers
from isomorph.kernels.registry import kernel, standard
from isomorph.kernels.tflite.activations import TFLITE, fused
from isomorph.kernels.tflite.convolution import auto_pad, channels_first, channels_last, strides
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array


@kernel("AVERAGE_POOL_2D", "MAX_POOL_2D", domain=TFLITE)
def pool(call: Call, x: Array) -> Array:
    """The mean or the largest of every window; padding does not count."""
    op = "AveragePool" if call.op == "AVERAGE_POOL_2D" else "MaxPool"
    return fused(call, _pooled(call, op, x))


@kernel("L2_POOL_2D", domain=TFLITE)
def l2_pool(call: Call, x: Array) -> Array:
    """The root of the mean square of every window."""
    squares = np.maximum(_pooled(call, "AveragePool", x * x), 0.0)
    return fused(call, call.noise.rounded(np.asarray(np.sqrt(squares), dtype=x.dtype)))


def _pooled(call: Call, op: str, x: Array) -> Array:
    size = (int(call.attributes["filter_height"]), int(call.attributes["filter_width"]))
    y = standard(
        call,
        op,
        channels_first(x),
        version=11,
        kernel_shape=size,
        strides=strides(call),
        auto_pad=auto_pad(call),
    )
    return channels_last(np.asarray(y))


@kernel("RESIZE_BILINEAR", domain=TFLITE)
def resize_bilinear(call: Call, x: Array, size: Array) -> Array:
    """Linear between the four nearest pixels."""
    mode = "asymmetric"
    if call.attributes.get("align_corners"):
        mode = "align_corners"
    elif call.attributes.get("half_pixel_centers"):
        mode = "half_pixel"
    y = standard(
        call,
        "Resize",
        x,
        None,
        None,
        np.asarray(size, np.int64),
        version=18,
        axes=(1, 2),
        mode="linear",
        coordinate_transformation_mode=mode,
    )
    return _with_coarse_coordinates(call, x, np.asarray(y))


def _with_coarse_coordinates(call: Call, x: Array, y: Array) -> Array:
    """Integer kernels count pixels in steps of 1/1024, and the step is rounded: it adds up."""
    whole = call.input_dtypes[0] in ("int8", "uint8", "int16") if call.input_dtypes else False
    if not call.noise.active or call.noise.quantizers or not whole:
        return y
    moved = y
    for axis in (1, 2):
        if y.shape[axis] < 2:
            continue
        slope = np.gradient(y, axis=axis) * (y.shape[axis] / x.shape[axis])
        along = np.arange(y.shape[axis]).reshape([-1 if a == axis else 1 for a in range(4)])
        draw = call.noise.random.uniform(-1.0, 1.0)
        moved = moved + slope * (1 + along) * draw / 2048.0
    return np.asarray(moved)


@kernel("RESIZE_NEAREST_NEIGHBOR", domain=TFLITE)
def resize_nearest(call: Call, x: Array, size: Array) -> Array:
    """The pixel below, or the nearest one; decided in float32, as declared."""
    y = x
    for axis, output in zip((1, 2), integers(size), strict=True):
        y = np.take(y, _nearest(call, x.shape[axis], output), axis=axis)
    return np.asarray(y)


def _nearest(call: Call, size: int, output: int) -> Array:
    aligned = bool(call.attributes.get("align_corners")) and output > 1
    half = np.float32(0.5 if call.attributes.get("half_pixel_centers") else 0.0)
    scale = np.float32(size - 1) / np.float32(output - 1) if aligned else None
    if scale is None:
        scale = np.float32(size) / np.float32(output)
    at = (np.arange(output).astype(np.float32) + half) * scale
    # With aligned corners a half is rounded away from zero, else everything down.
    whole = np.floor(at + np.float32(0.5)) if aligned else np.floor(at)
    return np.asarray(np.clip(whole.astype(np.int64), 0, size - 1))
