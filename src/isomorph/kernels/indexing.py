"""Gathering, scattering, sorting and counting: operators that work with positions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from isomorph.kernels.data_movement import integers
from isomorph.kernels.registry import kernel
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array


@kernel("Gather")
def gather(call: Call, x: Array, indices: Array) -> Array:
    """Slices along one axis, in any order."""
    axis = call.attributes.get("axis", 0)
    return np.asarray(np.take(x, np.asarray(indices, np.int64), axis=axis))


@kernel("GatherElements")
def gather_elements(call: Call, x: Array, indices: Array) -> Array:
    """One element for each index, along one axis."""
    axis = call.attributes.get("axis", 0) % x.ndim
    positions = np.asarray(indices, np.int64)
    grid: list[Array] = list(np.indices(positions.shape, sparse=True))
    grid[axis] = positions
    return np.asarray(x[tuple(grid)])


@kernel("GatherND")
def gather_nd(call: Call, x: Array, indices: Array) -> Array:
    """A slice for each index vector, within the leading batch axes."""
    batch = call.attributes.get("batch_dims", 0)
    positions = np.moveaxis(np.asarray(indices, np.int64), -1, 0)
    lead = [
        np.arange(x.shape[axis]).reshape(
            [-1 if a == axis else 1 for a in range(positions.ndim - 1)]
        )
        for axis in range(batch)
    ]
    return np.asarray(x[(*lead, *positions)])


_COMBINE: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}


def _scatter(call: Call, y: Array, places: tuple[Array, ...], updates: Array) -> Array:
    """Write or combine; what is combined is combined in the order of the updates."""
    how = call.attributes.get("reduction", "none")
    if how == "none":
        y[places] = updates
        return y
    before = np.abs(y) if call.noise.active and how == "add" else None
    _COMBINE[how].at(y, places, updates)  # type: ignore[attr-defined]
    if how not in ("add", "mul"):
        return y
    moved = call.noise.rounded(y)
    if before is None:
        return moved
    # Several updates of one place are rounded one after the other, at what has been added by then.
    updated = np.zeros(y.shape, np.int64)
    np.add.at(updated, places, 1)
    np.add.at(before, places, np.abs(updates))
    return np.where(updated > 1, call.noise.rounded(y, before), moved)


@kernel("ScatterElements", "Scatter")
def scatter_elements(call: Call, x: Array, indices: Array, updates: Array) -> Array:
    """One element written for each index, along one axis."""
    axis = call.attributes.get("axis", 0) % x.ndim
    positions = np.asarray(indices, np.int64)
    positions = np.where(positions < 0, positions + x.shape[axis], positions)
    grid: list[Array] = list(np.indices(positions.shape, sparse=True))
    grid[axis] = positions
    return _scatter(call, np.array(x), tuple(grid), updates)


@kernel("ScatterND")
def scatter_nd(call: Call, x: Array, indices: Array, updates: Array) -> Array:
    """A slice written for each index vector."""
    positions = tuple(np.moveaxis(np.asarray(indices, np.int64), -1, 0))
    return _scatter(call, np.array(x), positions, updates)


@kernel("ArgMax", "ArgMin")
def position_of_extreme(call: Call, x: Array) -> Array:
    """Where the largest or smallest stands along an axis; of equals the first, or the last."""
    axis = call.attributes.get("axis", 0) % max(x.ndim, 1)
    find = np.argmax if call.op == "ArgMax" else np.argmin
    if call.attributes.get("select_last_index"):
        found = x.shape[axis] - 1 - find(np.flip(x, axis), axis=axis)
    else:
        found = find(x, axis=axis)
    found = np.asarray(found, np.int64)
    return np.expand_dims(found, axis) if call.attributes.get("keepdims", 1) else found


@kernel("TopK")
def top_k(call: Call, x: Array, k: Array | None = None) -> tuple[Array, Array]:
    """The largest or smallest along an axis with their positions; of equals the first."""
    count = int(call.attributes["k"] if k is None else integers(k)[0])
    axis = call.attributes.get("axis", -1) % x.ndim
    largest = bool(call.attributes.get("largest", 1))
    order = _stable_order(x, axis, largest=largest)
    chosen = np.take(order, np.arange(count), axis=axis)
    return np.take_along_axis(x, chosen, axis), np.asarray(chosen, np.int64)


def _stable_order(x: Array, axis: int, *, largest: bool) -> Array:
    if not largest:
        return np.asarray(np.argsort(x, axis=axis, kind="stable"))
    # Descending and stable: sort the reversed array and turn both around.
    order = np.argsort(np.flip(x, axis), axis=axis, kind="stable")
    return np.asarray(np.flip(x.shape[axis] - 1 - order, axis))


@kernel("OneHot")
def one_hot(call: Call, indices: Array, depth: Array, values: Array) -> Array:
    """A new axis that is on at the index and off elsewhere; beyond the depth all off."""
    count = integers(depth)[0]
    axis = call.attributes.get("axis", -1)
    axis = axis + indices.ndim + 1 if axis < 0 else axis
    positions = np.expand_dims(np.asarray(indices, np.int64), axis)
    positions = np.where(positions < 0, positions + count, positions)
    grid = np.arange(count).reshape([-1 if a == axis else 1 for a in range(indices.ndim + 1)])
    return np.asarray(np.where(positions == grid, values[1], values[0]))


@kernel("NonZero")
def non_zero(call: Call, x: Array) -> Array:
    """The positions of what is not zero, one column each."""
    return np.array(np.nonzero(np.atleast_1d(x)), dtype=np.int64)


@kernel("Compress")
def compress(call: Call, x: Array, condition: Array) -> Array:
    """What the condition keeps, along an axis or of the flat tensor."""
    axis = call.attributes.get("axis")
    return np.compress(np.asarray(condition, bool), x, axis=axis)


@kernel("Unique")
def unique(call: Call, x: Array) -> tuple[Array, ...]:
    """Each value once, sorted or in order of appearance, with positions and counts."""
    axis = call.attributes.get("axis")
    flat = x.reshape(-1) if axis is None else x
    values, first, inverse, counts = np.unique(
        flat, return_index=True, return_inverse=True, return_counts=True, axis=axis
    )
    inverse = inverse.reshape(-1)
    if not call.attributes.get("sorted", 1):
        order = np.argsort(first, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(order.size)
        values = np.take(values, order, axis=axis or 0)
        first, inverse, counts = first[order], rank[inverse], counts[order]
    found = (values, *(np.asarray(part, np.int64) for part in (first, inverse, counts)))
    return found[: max(call.outputs, 1)]
