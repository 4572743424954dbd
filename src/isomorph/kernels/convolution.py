"""Convolution in any rank: unfolded block by block into matrix products that stay in cache."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from isomorph.core.memory import share_of_memory
from isomorph.core.threads import run_all
from isomorph.kernels.blocked_products import matrix_product
from isomorph.kernels.registry import kernel
from isomorph.kernels.windows import Windows, padded, shifted, view, windows
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array

_BLOCK_BYTES = 4 << 20
"""Unfolded input per matrix product, of the order of a core's caches.

With larger weights it is as large as they are: every block reads all of them again.
"""
_BUFFER_BYTES = 256 << 20
"""Unfolded input in all threads, where nothing limits the process to less."""


@kernel("Conv")
def conv(call: Call, x: Array, w: Array, b: Array | None = None) -> Array:
    """Cross-correlation with groups, strides, dilations and padding."""
    place = windows(call.attributes, x.shape[2:], w.shape[2:])
    groups = int(call.attributes.get("group", 1))
    y = convolve(x, w, b, place, groups)

    def magnitude() -> Array:
        return convolve(np.abs(x), np.abs(w), None if b is None else np.abs(b), place, groups)

    return call.noise.reduced(y, magnitude, math.prod(w.shape[1:]))


def convolve(x: Array, w: Array, b: Array | None, place: Windows, groups: int) -> Array:
    """The sum alone. ``w`` is (outputs, inputs per group, kernel…)."""
    dtype = np.result_type(x, w)
    if dtype.kind in "iu" or groups == 1 or w.shape[1] > 1 or x.shape[1] != groups:
        y = _dense(x, w, place, groups, dtype)
    else:
        y = _depthwise(x, w, place, dtype)
    if b is not None:
        y += b.reshape((-1,) + (1,) * (y.ndim - 2))
    return y


def _dense(x: Array, w: Array, place: Windows, groups: int, dtype: np.dtype[np.generic]) -> Array:
    batch, outputs = x.shape[0], w.shape[0]
    matrix = w.reshape(groups, outputs // groups, math.prod(w.shape[1:]))
    y = np.empty((batch, groups, outputs // groups, *place.output), dtype)
    x = padded(x, place)
    grouped = x.reshape(batch, groups, x.shape[1] // groups, *x.shape[2:])
    pointwise = math.prod(place.kernel) == 1
    for n in range(batch):
        for g in range(groups):
            if pointwise:
                _pointwise(grouped[n, g], matrix[g], place, y[n, g])
            else:
                _unfolded(grouped[n, g], matrix[g], place, y[n, g])
    return y.reshape(batch, outputs, *place.output)


def _pointwise(x: Array, matrix: Array, place: Windows, y: Array) -> None:
    """A 1×1 kernel is a matrix product on the input as it lies."""
    if any(stride > 1 for stride in place.strides):
        x = shifted(x, place, (0,) * len(place.kernel))
    flat = x.reshape(x.shape[0], -1)
    matrix_product(matrix, flat, out=y.reshape(y.shape[0], -1))


def _unfolded(x: Array, matrix: Array, place: Windows, y: Array) -> None:
    """A piece of the output at a time, as large as keeps the unfolded input in cache."""
    rank = len(place.kernel)
    seen = view(x, place)
    # (channels, outputs…, kernel…) → (channels, kernel…, outputs…)
    seen = seen.transpose(0, *range(1 + rank, 1 + 2 * rank), *range(1, 1 + rank))
    column = matrix.shape[1] * y.itemsize
    most = max(_BLOCK_BYTES, matrix.nbytes) // max(column, 1)
    whole = (slice(None),) * (1 + rank)
    pieces = list(_pieces(place.output, most))
    # The first piece is the largest. Each thread needs a buffer for what it unfolds.
    largest = matrix.shape[1] * math.prod(part.stop - part.start for part in pieces[0])
    threads = share_of_memory(_BUFFER_BYTES) // (largest * y.itemsize)
    spare: list[Array] = []
    flat = y.reshape(y.shape[0], -1)

    def compute(piece: tuple[slice, ...]) -> None:
        part = seen[whole + piece]
        buffer = spare.pop() if spare else np.empty(largest, y.dtype)
        block = buffer[: part.size].reshape(part.shape)
        np.copyto(block, part)
        columns = block.reshape(matrix.shape[1], -1)
        first = math.prod(y.shape[2:]) * piece[0].start
        if columns.shape[1] == math.prod(y.shape[2:]) * (piece[0].stop - piece[0].start):
            # Whole rows lie side by side in the output.
            matrix_product(matrix, columns, out=flat[:, first : first + columns.shape[1]])
        else:
            target = y[(slice(None), *piece)]
            target[...] = matrix_product(matrix, columns).reshape(target.shape)
        spare.append(buffer)

    run_all([partial(compute, piece) for piece in pieces], most=threads)


def _pieces(output: tuple[int, ...], most: int) -> Iterator[tuple[slice, ...]]:
    """Cuts that cover the output in order, each of at most ``most`` elements, or of one."""
    size, *inner = output
    rows = most // max(math.prod(inner), 1)
    if inner and rows == 0:
        # One row is too long: a one-dimensional convolution often stands as one row of two axes.
        for start in range(size):
            for rest in _pieces(tuple(inner), most):
                yield (slice(start, start + 1), *rest)
        return
    rows = max(rows, 1)
    for start in range(0, size, rows):
        yield (slice(start, min(start + rows, size)), *(slice(0, n) for n in inner))


def _depthwise(x: Array, w: Array, place: Windows, dtype: np.dtype[np.generic]) -> Array:
    """One input channel per group: a sum of shifted images."""
    x = padded(x, place)
    times = w.shape[0] // x.shape[1]
    if times > 1:
        x = np.repeat(x, times, axis=1)
    y = np.zeros((x.shape[0], w.shape[0], *place.output), dtype)
    ones = (1,) * len(place.kernel)
    for offset in np.ndindex(*place.kernel):
        y += shifted(x, place, offset) * w[(slice(None), 0, *offset)].reshape(-1, *ones)
    return y


@kernel("ConvTranspose")
def conv_transpose(call: Call, x: Array, w: Array, b: Array | None = None) -> Array:
    """The adjoint of a convolution: every input element spreads its kernel."""
    groups = int(call.attributes.get("group", 1))
    begin, size, place = transposed_windows(call, x, w)
    y = _spread(x, w, b, groups, begin, size, place)

    def magnitude() -> Array:
        bias = None if b is None else np.abs(b)
        return _spread(np.abs(x), np.abs(w), bias, groups, begin, size, place)

    overlap = math.prod(-(-k // s) for k, s in zip(place.kernel, place.strides, strict=True))
    return call.noise.reduced(y, magnitude, x.shape[1] // groups * overlap)


def transposed_windows(
    call: Call, x: Array, w: Array
) -> tuple[tuple[int, ...], tuple[int, ...], Windows]:
    """What is cut off in front, the size of the output, and the windows on the uncut one."""
    attributes, rank = call.attributes, x.ndim - 2
    kernel_shape = w.shape[2:]
    strides = tuple(attributes.get("strides") or (1,) * rank)
    dilations = tuple(attributes.get("dilations") or (1,) * rank)
    extra = tuple(attributes.get("output_padding") or (0,) * rank)
    pads = list(attributes.get("pads") or (0,) * 2 * rank)
    wanted = attributes.get("output_shape")
    auto = attributes.get("auto_pad", "NOTSET")
    size = []
    for axis in range(rank):
        reach = (kernel_shape[axis] - 1) * dilations[axis] + 1
        full = strides[axis] * (x.shape[2 + axis] - 1) + extra[axis] + reach
        if wanted or auto in ("SAME_UPPER", "SAME_LOWER"):
            target = wanted[axis - rank] if wanted else x.shape[2 + axis] * strides[axis]
            missing = full - target
            # More output than the kernels reach is zero behind them.
            half = max(missing, 0) // 2
            pads[axis] = half if auto == "SAME_UPPER" else max(missing, 0) - half
            pads[axis + rank] = missing - pads[axis]
        elif auto == "VALID":
            pads[axis] = pads[axis + rank] = 0
        size.append(full - pads[axis] - pads[axis + rank])
    place = Windows(
        kernel=tuple(kernel_shape),
        strides=strides,
        dilations=dilations,
        begin=(0,) * rank,
        end=(0,) * rank,
        output=tuple(x.shape[2:]),
    )
    return tuple(pads[:rank]), tuple(size), place


def _spread(  # noqa: PLR0917
    x: Array,
    w: Array,
    b: Array | None,
    groups: int,
    begin: tuple[int, ...],
    size: tuple[int, ...],
    place: Windows,
) -> Array:
    batch, per_group = x.shape[0], w.shape[1]
    reach = zip(place.output, place.strides, place.reach, strict=True)
    whole = [
        max((count - 1) * stride + extent, first + length, 0)
        for (count, stride, extent), first, length in zip(reach, begin, size, strict=True)
    ]
    y = np.zeros((batch, groups, per_group, *whole), np.result_type(x, w))
    flat = x.reshape(batch, groups, x.shape[1] // groups, math.prod(x.shape[2:]))
    weights = w.reshape(groups, w.shape[0] // groups, per_group, *place.kernel)
    for offset in np.ndindex(*place.kernel):
        tap = weights[(slice(None), slice(None), slice(None), *offset)].transpose(0, 2, 1)
        part = np.matmul(tap, flat).reshape(batch, groups, per_group, *place.output)
        shifted(y, place, offset)[...] += part
    inner: tuple[Any, ...] = tuple(
        slice(first, first + length) for first, length in zip(begin, size, strict=True)
    )
    y = np.asarray(y.reshape(batch, groups * per_group, *whole)[(Ellipsis, *inner)])
    if b is not None:
        y = y + b.reshape((-1,) + (1,) * len(whole))
    return np.ascontiguousarray(y)
