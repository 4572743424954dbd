"""Pooling: the mean, the largest or the p-norm of every window."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from isomorph.kernels.registry import kernel
from isomorph.kernels.windows import Windows, padded, shifted, windows
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array


def summed(x: Array, place: Windows) -> Array:
    """The sum over every window, padding counted as zero."""
    x = padded(x, place)
    y = np.zeros((*x.shape[: x.ndim - len(place.kernel)], *place.output), x.dtype)
    for offset in np.ndindex(*place.kernel):
        y += shifted(x, place, offset)
    return y


@kernel("AveragePool")
def average_pool(call: Call, x: Array) -> Array:
    """The mean over the part of each window that counts."""
    place = windows(call.attributes, x.shape[2:], call.attributes["kernel_shape"])
    inside = np.ones((1, 1, *x.shape[2:]), x.dtype)
    if call.attributes.get("count_include_pad"):
        # Declared padding counts; what a rounded-up size adds behind it does not.
        edges = [(0, 0), (0, 0), *zip(place.begin, place.end, strict=True)]
        inside = np.pad(inside, edges, constant_values=1.0)
        bare = Windows(
            kernel=place.kernel,
            strides=place.strides,
            dilations=place.dilations,
            begin=(0,) * len(place.kernel),
            end=(0,) * len(place.kernel),
            output=place.output,
        )
        counts = summed(inside, bare)
    else:
        counts = summed(inside, place)
    y = summed(x, place) / counts
    return call.noise.reduced(y, lambda: summed(np.abs(x), place) / counts, math.prod(place.kernel))


@kernel("MaxPool")
def max_pool(call: Call, x: Array) -> Array | tuple[Array, Array]:
    """The largest of each window, and on request where in the input it stood."""
    place = windows(call.attributes, x.shape[2:], call.attributes["kernel_shape"])
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    wide = padded(x, place, lowest)
    wanted = call.outputs > 1
    column_major = bool(call.attributes.get("storage_order"))
    best: Array | None = None
    where = np.zeros((), np.int64)
    positions = _positions(x, place, column_major=column_major) if wanted else x
    for offset in np.ndindex(*place.kernel):
        seen = shifted(wide, place, offset)
        if best is None:
            best = seen.copy()
            if wanted:
                where = np.broadcast_to(shifted(positions, place, offset), best.shape).copy()
            continue
        if wanted:
            better = (seen > best) | (
                np.isnan(seen) & ~np.isnan(best) if x.dtype.kind == "f" else False
            )
            np.copyto(where, shifted(positions, place, offset), where=better)
        np.maximum(best, seen, out=best)
    result = np.asarray(best)
    return (result, where) if wanted else result


def _positions(x: Array, place: Windows, *, column_major: bool) -> Array:
    """The flat index of every input element, laid out as the padded input is."""
    spatial = x.shape[2:]
    order = np.arange(math.prod(spatial), dtype=np.int64)
    within = order.reshape(spatial, order="F" if column_major else "C")
    planes = np.arange(x.shape[0] * x.shape[1], dtype=np.int64).reshape(x.shape[:2])
    flat = planes[(..., *(None,) * len(spatial))] * math.prod(spatial) + within
    return padded(flat, place)


@kernel("LpPool")
def lp_pool(call: Call, x: Array) -> Array:
    """The p-norm of each window."""
    place = windows(call.attributes, x.shape[2:], call.attributes["kernel_shape"])
    return _norm(call, x, lambda values: summed(values, place), math.prod(place.kernel))


@kernel("GlobalAveragePool")
def global_average_pool(call: Call, x: Array) -> Array:
    """The mean of each channel."""
    axes = tuple(range(2, x.ndim))
    y = x.mean(axis=axes, keepdims=True)
    length = math.prod(x.shape[2:])
    return call.noise.reduced(y, lambda: np.abs(x).mean(axis=axes, keepdims=True), length)


@kernel("GlobalMaxPool")
def global_max_pool(call: Call, x: Array) -> Array:
    """The largest of each channel."""
    return np.asarray(x.max(axis=tuple(range(2, x.ndim)), keepdims=True))


@kernel("GlobalLpPool")
def global_lp_pool(call: Call, x: Array) -> Array:
    """The p-norm of each channel."""
    axes = tuple(range(2, x.ndim))
    length = math.prod(x.shape[2:])
    return _norm(call, x, lambda values: values.sum(axis=axes, keepdims=True), length)


def _norm(call: Call, x: Array, add: Callable[[Array], Array], length: int) -> Array:
    p = call.attributes.get("p", 2)
    powers = np.power(np.abs(x), p)
    total = add(powers)
    total = call.noise.reduced(total, lambda: total, length)
    y = np.power(np.maximum(total, 0.0), 1.0 / p)
    return call.noise.rounded(np.asarray(y, dtype=x.dtype))


@kernel("MaxUnpool")
def max_unpool(call: Call, x: Array, where: Array, shape: Array | None = None) -> Array:
    """Every maximum back where it stood, zero elsewhere."""
    kernel_shape = call.attributes["kernel_shape"]
    rank = len(kernel_shape)
    strides = call.attributes.get("strides") or (1,) * rank
    pads = call.attributes.get("pads") or (0,) * 2 * rank
    natural = [
        (size - 1) * stride + extent - pads[axis] - pads[axis + rank]
        for axis, (size, stride, extent) in enumerate(
            zip(x.shape[2:], strides, kernel_shape, strict=True)
        )
    ]
    inner = np.zeros(math.prod((*x.shape[:2], *natural)), x.dtype)
    inner[where.reshape(-1)] = x.reshape(-1)
    inner = inner.reshape(*x.shape[:2], *natural)
    if shape is None:
        return inner
    y = np.zeros(tuple(int(size) for size in shape), x.dtype)
    y[tuple(slice(0, size) for size in inner.shape)] = inner
    return y
