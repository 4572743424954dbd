"""TFLite's slices, gathers and scatters."""

from __future__ import annotations

import numpy as np

from isomorph.kernels.data_movement import integers
from isomorph.kernels.registry import kernel, standard
from isomorph.kernels.strided_slice import StridedSlice
from isomorph.kernels.tflite.activations import TFLITE
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array


@kernel("STRIDED_SLICE", domain=TFLITE)
def strided_slice(call: Call, x: Array, begin: Array, end: Array, step: Array) -> Array:
    """A part of each axis; masks open an end, drop or add an axis, or stand for the rest."""
    words = {"begins": "begin", "ends": "end", "ellipsis": "ellipsis", "news": "new_axis",
             "shrinks": "shrink_axis"}  # fmt: skip
    masks = {key: int(call.attributes.get(f"{word}_mask", 0)) for key, word in words.items()}
    starts, ends = integers(begin), integers(end)
    if call.attributes.get("offset"):
        ends = tuple(first + length for first, length in zip(starts, ends, strict=True))
    cuts = StridedSlice(begin=starts, end=ends, strides=integers(step), **masks).cuts(x.shape)
    sizes = iter(x.shape)
    # An element beyond an axis is the one at its end.
    inside = [cut if cut is None else _inside(cut, next(sizes)) for cut in cuts]
    return np.asarray(x[tuple(inside)])


def _inside(cut: slice | int, size: int) -> slice | int:
    return min(max(cut, 0), size - 1) if isinstance(cut, int) else cut


@kernel("SLICE", domain=TFLITE)
def cut(call: Call, x: Array, begin: Array, size: Array) -> Array:
    """A box; a size of −1 goes to the end."""
    cuts = tuple(
        slice(first, None if length == -1 else first + length)
        for first, length in zip(integers(begin), integers(size), strict=True)
    )
    return x[cuts]


@kernel("GATHER", domain=TFLITE)
def gather(call: Call, x: Array, indices: Array) -> Array:
    """Slices along one axis, in any order, within the leading batch axes."""
    batch = int(call.attributes.get("batch_dims", 0))
    batch += indices.ndim if batch < 0 else 0
    axis = int(call.attributes.get("axis", 0)) % max(x.ndim, 1)
    places = np.asarray(indices, np.int64)
    if not batch:
        return np.asarray(np.take(x, places, axis=axis))
    lead = indices.shape[:batch]
    y = np.stack([np.take(x[at], places[at], axis=axis - batch) for at in np.ndindex(*lead)])
    return y.reshape(*lead, *y.shape[1:])


@kernel("GATHER_ND", domain=TFLITE)
def gather_nd(call: Call, x: Array, indices: Array) -> Array:
    """A slice for each index vector."""
    return np.asarray(standard(call, "GatherND", x, indices, version=13, batch_dims=0))


@kernel("SCATTER_ND", domain=TFLITE)
def scatter_nd(call: Call, indices: Array, updates: Array, shape: Array) -> Array:
    """Updates added into zeros."""
    y = np.zeros(integers(shape), updates.dtype)
    places = tuple(np.moveaxis(np.asarray(indices, np.int64), -1, 0))
    if y.dtype == bool:
        y[places] = updates
        return y
    np.add.at(y, places, updates)
    return call.noise.rounded(y)


@kernel("SPARSE_TO_DENSE", domain=TFLITE)
def sparse_to_dense(
    call: Call, indices: Array, shape: Array, values: Array, default: Array
) -> Array:
    """The default everywhere but where values are given."""
    y = np.full(integers(shape), np.asarray(default).reshape(-1)[0], values.dtype)
    places = np.asarray(indices, np.int64).reshape(-1, y.ndim)
    y[tuple(places.T)] = values
    return y


@kernel("DYNAMIC_UPDATE_SLICE", domain=TFLITE)
def update_slice(call: Call, x: Array, update: Array, start: Array) -> Array:
    """A box written over; moved inside where it would stick out."""
    first = [
        min(max(place, 0), size - length)
        for place, size, length in zip(integers(start), x.shape, update.shape, strict=True)
    ]
    y = np.array(x)
    y[tuple(slice(a, a + n) for a, n in zip(first, update.shape, strict=True))] = update
    return y


@kernel("MATRIX_DIAG", domain=TFLITE)
def matrix_diagonal(call: Call, diagonal: Array) -> Array:
    """Square matrices with these diagonals, zero elsewhere."""
    n = diagonal.shape[-1]
    y = np.zeros((*diagonal.shape, n), diagonal.dtype)
    y[..., np.arange(n), np.arange(n)] = diagonal
    return y


@kernel("MATRIX_SET_DIAG", domain=TFLITE)
def matrix_set_diagonal(call: Call, x: Array, diagonal: Array) -> Array:
    """The same matrices with other diagonals."""
    y = np.array(x)
    n = diagonal.shape[-1]
    y[..., np.arange(n), np.arange(n)] = diagonal
    return y


@kernel("ONE_HOT", domain=TFLITE)
def one_hot(call: Call, indices: Array, depth: Array, on: Array, off: Array) -> Array:
    """A new axis that is on at the index and off elsewhere; an index outside is all off."""
    count, axis = integers(depth)[0], int(call.attributes.get("axis", -1))
    axis = axis + indices.ndim + 1 if axis < 0 else axis
    grid = np.arange(count).reshape([-1 if a == axis else 1 for a in range(indices.ndim + 1)])
    hit = np.expand_dims(np.asarray(indices, np.int64), axis) == grid
    return np.asarray(np.where(hit, on.reshape(-1)[0], off.reshape(-1)[0]), dtype=on.dtype)


@kernel("UNIQUE", domain=TFLITE)
def unique(call: Call, x: Array) -> tuple[Array, Array]:
    """Each value once, in order of appearance, and where each element went."""
    found = standard(call, "Unique", x, version=11, outputs=3, sorted=0)
    return found[0], found[2]
