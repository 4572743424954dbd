"""Operators of OpenVINO that rearrange blocks, channels and windows of a tensor."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from isomorph.kernels import rearrangement
from isomorph.kernels.openvino.layers import OPENVINO, declared_type, numbers
from isomorph.kernels.registry import kernel
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array


@kernel("Roll", domain=OPENVINO)
def roll(call: Call, x: Array, shift: Array, axes: Array) -> Array:
    """Shifted along axes; what leaves at one end enters at the other."""
    places = numbers(axes)
    shifts = numbers(shift)
    return np.roll(x, shifts * len(places) if len(shifts) == 1 else shifts, places)


@kernel("ShuffleChannels", domain=OPENVINO)
def shuffle_channels(call: Call, x: Array) -> Array:
    """The channels of all groups in turn instead of group after group."""
    axis, groups = call.attributes["axis"] % x.ndim, call.attributes["group"]
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    parts = x.reshape(*before, groups, x.shape[axis] // groups, *after)
    return parts.swapaxes(axis, axis + 1).reshape(x.shape)


@kernel("BatchToSpace", domain=OPENVINO)
def batch_to_space(call: Call, x: Array, block: Array, begin: Array, end: Array) -> Array:
    """Elements of the batch become the numbers of each block; then the borders are cut."""
    sizes = numbers(block)[1:]
    y = rearrangement.batch_to_space(x.shape, sizes).of(x)
    low, high = numbers(begin), numbers(end)
    cuts = (slice(a, n - b) for a, b, n in zip(low, high, y.shape, strict=True))
    return np.asarray(y[tuple(cuts)])


@kernel("SpaceToBatch", domain=OPENVINO)
def space_to_batch(call: Call, x: Array, block: Array, begin: Array, end: Array) -> Array:
    """Padded with zeros; then the numbers of each block become elements of the batch."""
    y = np.pad(x, list(zip(numbers(begin), numbers(end), strict=True)))
    return rearrangement.space_to_batch(y.shape, numbers(block)[1:]).of(y)


@kernel("SliceScatter", domain=OPENVINO)
def slice_scatter(  # noqa: PLR0917
    call: Call,
    x: Array,
    updates: Array,
    start: Array,
    stop: Array,
    step: Array,
    axes: Array | None = None,
) -> Array:
    """A slice replaced."""
    low, high, by = numbers(start), numbers(stop), numbers(step)
    places = numbers(axes) or tuple(range(len(low)))
    cuts: list[Any] = [slice(None)] * x.ndim
    for place, *bounds in zip(places, low, high, by, strict=True):
        begin, end, each = bounds
        # Backwards, an end before the first element is none at all.
        whole = each < 0 and end < -x.shape[place]
        cuts[place] = slice(begin, None if whole else end, each)
    y = x.copy()
    y[tuple(cuts)] = updates
    return y


@kernel("AdaptiveMaxPool", domain=OPENVINO)
def adaptive_max_pool(call: Call, x: Array, size: Array) -> tuple[Array, Array]:
    """The largest number of as many windows as are asked for, and its place among the pixels."""
    counts, spatial = numbers(size), x.shape[2:]
    places = np.broadcast_to(np.arange(math.prod(spatial)).reshape(spatial), x.shape)
    values = np.empty((*x.shape[:2], *counts), x.dtype)
    found = np.empty(values.shape, declared_type(call, 1))
    for window in np.ndindex(*counts):
        ends = zip(window, counts, spatial, strict=True)
        cuts: Any = (..., *(slice(k * n // c, -(-(k + 1) * n // c)) for k, c, n in ends))
        here: Any = (..., *window)
        part = x[cuts].reshape(*x.shape[:2], -1)
        first = part.argmax(-1)[..., None]
        values[here] = np.take_along_axis(part, first, -1)[..., 0]
        inside = places[cuts].reshape(part.shape)
        found[here] = np.take_along_axis(inside, first, -1)[..., 0]
    return values, found
