"""ONNX Runtime's blocked layout: what its layout optimizer makes of convolutions on a CPU.

A blocked tensor has the shape (N, C, H, W) but its memory is (N, C/b, H, W, b), with C filled up
to a multiple of b. The file does not state b: it is the width that the CPU's kernels prefer,
and a model written on one machine means something else on another. So b is asked of the CPU
at hand, and tensors are held in the very order in which ONNX Runtime gives them out.
"""

from __future__ import annotations

import platform
from functools import cache
from typing import Any

import numpy as np

from isomorph.kernels.ort.activations import activation_by_list
from isomorph.kernels.ort.convolution import convolve, pool
from isomorph.kernels.registry import kernel
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array

NCHWC = "com.microsoft.nchwc"


@cache
def block_size() -> int:
    """8 floats, or 16 where registers are 512 bits wide or the CPU is an ARM."""
    if platform.machine().lower() in {"arm64", "aarch64"}:
        return 16
    config: Any = np.show_config(mode="dicts")
    found = config.get("SIMD Extensions", {}).get("found", ())
    return 16 if any(name.startswith(("AVX512", "X86_V4")) for name in found) else 8


def blocked(x: Array) -> Array:
    """(N, C, H, W) into blocks, C filled up with zeros."""
    block = block_size()
    fill = -x.shape[1] % block
    padded = np.pad(x, ((0, 0), (0, fill), (0, 0), (0, 0)))
    batch, channels, height, width = padded.shape
    split = padded.reshape(batch, channels // block, block, height, width)
    return np.ascontiguousarray(split.transpose(0, 1, 3, 4, 2)).reshape(padded.shape)


def unblocked(x: Array) -> Array:
    """The inverse; the filled-up channels stay."""
    block = block_size()
    batch, channels, height, width = x.shape
    split = x.reshape(batch, channels // block, height, width, block)
    return split.transpose(0, 1, 4, 2, 3).reshape(x.shape)


@kernel("ReorderInput", domain=NCHWC)
def reorder_input(call: Call, x: Array) -> Array:
    """From channels first, or last, into blocks."""
    return blocked(np.moveaxis(x, -1, 1) if call.attributes.get("channels_last", 0) else x)


@kernel("ReorderOutput", domain=NCHWC)
def reorder_output(call: Call, x: Array) -> Array:
    """Out of blocks, without the channels that were filled up."""
    plain = unblocked(x)[:, : int(call.attributes["channels"])]
    return np.moveaxis(plain, 1, -1) if call.attributes.get("channels_last", 0) else plain


@kernel("Conv", domain=NCHWC)
def nchwc_conv(
    call: Call, x: Array, w: Array, bias: Array | None = None, total: Array | None = None
) -> Array:
    """activation(Conv(x) + total); an input of fewer channels than a block is not blocked."""
    few = x.shape[1] < block_size()
    y = convolve(call, x if few else unblocked(x), _weights(call, w), bias)
    if total is not None:
        y = call.noise.rounded(y + unblocked(total))
    return blocked(activation_by_list(call, y))


def _weights(call: Call, w: Array) -> Array:
    """(O, I, kH, kW) out of (O/b, I/b, kH, kW, b, b), or (O/b, I, kH, kW, b) where I is short."""
    block = block_size()
    out, inner, *window = w.shape
    if inner < block:
        split = w.reshape(out // block, inner, *window, block)
        return split.transpose(0, 4, 1, 2, 3).reshape(w.shape)
    split = w.reshape(out // block, inner // block, *window, block, block)
    return split.transpose(0, 5, 1, 4, 2, 3).reshape(w.shape)


@kernel("MaxPool", domain=NCHWC)
def nchwc_max_pool(call: Call, x: Array) -> Array:
    """Channel by channel."""
    return blocked(pool(call, "MaxPool", unblocked(x), storage_order=0))


@kernel("AveragePool", domain=NCHWC)
def nchwc_average_pool(call: Call, x: Array) -> Array:
    """Channel by channel."""
    counted = int(call.attributes.get("count_include_pad", 0))
    return blocked(pool(call, "AveragePool", unblocked(x), count_include_pad=counted))


@kernel("GlobalAveragePool", "GlobalMaxPool", domain=NCHWC)
def nchwc_global_pool(call: Call, x: Array) -> Array:
    """One value per channel, so that blocks no longer show."""
    plain = unblocked(x)
    if call.op == "GlobalMaxPool":
        return np.asarray(plain.max(axis=(2, 3), keepdims=True))
    mean = plain.mean(axis=(2, 3), keepdims=True)
    length = plain.shape[2] * plain.shape[3]
    size = np.abs(plain).mean(axis=(2, 3), keepdims=True)
    return np.asarray(call.noise.reduced(mean, lambda: size, length))


@kernel("Upsample", domain=NCHWC)
def nchwc_upsample(call: Call, x: Array) -> Array:
    """By whole factors: the nearest pixel, or linear between two."""
    given = call.attributes
    rows, columns = (int(scale) for scale in list(given["scales"])[2:])
    plain = unblocked(x)
    if given.get("mode", "nearest") == "nearest":
        return blocked(plain.repeat(rows, axis=2).repeat(columns, axis=3))
    mode = given.get("coordinate_transformation_mode", "asymmetric")
    for axis, scale in ((2, rows), (3, columns)):
        plain = _stretched(call, plain, axis, scale, mode)
    return blocked(plain)


def _stretched(call: Call, x: Array, axis: int, scale: int, mode: str) -> Array:
    length = x.shape[axis]
    places = np.arange(length * scale, dtype=np.float64)
    if mode == "half_pixel":
        source = np.clip((places + 0.5) / scale - 0.5, 0, None)
    elif mode == "align_corners":
        source = places * (length - 1) / max(length * scale - 1, 1)
    else:
        source = places / scale
    low = np.minimum(np.floor(source).astype(np.int64), length - 1)
    high = np.minimum(low + 1, length - 1)
    along = [-1 if k == axis else 1 for k in range(x.ndim)]
    share = np.where(source - low > 1, 0.0, source - low).reshape(along).astype(x.dtype)
    first, second = x.take(low, axis), x.take(high, axis)
    # The place is rounded in pixels, which is more than the rounding of what is read there.
    size = (np.abs(first) + np.abs(second)) * np.maximum(source, 1.0).reshape(along)
    return np.asarray(call.noise.rounded(first * (1 - share) + second * share, size))
