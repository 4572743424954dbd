"""StableHLO's gather and scatter: windows at places that are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from isomorph.kernels.data_movement import integers
from isomorph.kernels.registry import kernel
from isomorph.kernels.stablehlo.elementwise import STABLEHLO
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array


@kernel("gather", "dynamic_gather", domain=STABLEHLO)
def gather(call: Call, x: Array, places: Array, sizes: Array | None = None) -> Array:
    """Windows of ``x``, moved to where all of their elements exist."""
    numbers: Mapping[str, Any] = call.attributes["dimension_numbers"]
    window = integers(call.attributes["slice_sizes"] if sizes is None else sizes)
    starts = _starts(
        x, places, window, int(numbers["index_vector_dim"]), numbers["start_index_map"],
        numbers["operand_batching_dims"], numbers["start_indices_batching_dims"],
    )  # fmt: skip
    limits = [n - s for n, s in zip(x.shape, window, strict=True)]
    starts = [np.clip(start, 0, limit) for start, limit in zip(starts, limits, strict=True)]
    dropped = {*numbers["collapsed_slice_dims"], *numbers["operand_batching_dims"]}
    inner = [axis for axis in range(x.ndim) if axis not in dropped]
    y = x[_elements(starts, window, inner)]
    return _placed(y, integers(numbers["offset_dims"]), len(inner))


@kernel("scatter", domain=STABLEHLO)
def scatter(call: Call, x: Array, places: Array, updates: Array) -> Array:
    """Windows of ``x`` joined with others; windows that do not lie within are left out."""
    numbers: Mapping[str, Any] = call.attributes["scatter_dimension_numbers"]
    by = str(call.attributes["reducer"])
    own = integers(numbers["update_window_dims"])
    dropped = {*numbers["inserted_window_dims"], *numbers["input_batching_dims"]}
    inner = [axis for axis in range(x.ndim) if axis not in dropped]
    window = [1] * x.ndim
    for axis, place in zip(inner, own, strict=True):
        window[axis] = updates.shape[place]
    starts = _starts(
        x, places, window, int(numbers["index_vector_dim"]),
        numbers["scattered_dims_to_operand_dims"],
        numbers["input_batching_dims"], numbers["scatter_indices_batching_dims"],
    )  # fmt: skip
    outer = [axis for axis in range(updates.ndim) if axis not in own]
    moved = updates.transpose(*outer, *own)
    inside = np.broadcast_to(np.True_, moved.shape[: len(outer)])
    for start, count, extent in zip(starts, x.shape, window, strict=True):
        inside = inside & (start >= 0) & (start + extent <= count)
    kept = [np.broadcast_to(start, inside.shape)[inside] for start in starts]
    elements, values = _elements(kept, window, inner), moved[inside]
    y = x.astype(np.result_type(x, updates))
    if by == "replace":
        y[elements] = values
        return y
    functions = {"add": np.add, "multiply": np.multiply, "maximum": np.maximum,
                 "minimum": np.minimum, "and": np.bitwise_and, "or": np.bitwise_or}  # fmt: skip
    functions[by].at(y, elements, values)
    if by not in ("add", "multiply") or not call.noise.active:
        return y
    times = np.zeros(y.shape, np.int64)
    np.add.at(times, elements, 1)
    length = int(times.max(initial=0)) + 1
    if by == "multiply":
        return call.noise.rounded(y, np.where(times > 0, np.sqrt(float(length)) * np.abs(y), 0.0))

    def magnitude() -> Array:
        total = np.where(times > 0, np.abs(x), 0.0)
        np.add.at(total, elements, np.abs(values))
        return total

    return np.where(times > 0, call.noise.reduced(y, magnitude, length), y)


def _starts(  # noqa: PLR0917
    x: Array,
    places: Array,
    window: Sequence[int],
    vector: int,
    named: Sequence[int],
    batching: Sequence[int],
    counted: Sequence[int],
) -> list[Array]:
    """Where each window begins, axis by axis of ``x``; every array has the shape of the batch."""
    if vector == places.ndim:
        places = places[..., None]
    wide = np.moveaxis(places, vector, -1).astype(np.int64)
    batch = wide.shape[:-1]
    starts: list[Array] = [np.zeros((1,) * len(batch), np.int64) for _ in window]
    for column, axis in enumerate(named):
        starts[axis] = wide[..., column]
    for axis, place in zip(batching, counted, strict=True):
        own = place - (place > vector)
        line = np.arange(x.shape[axis])
        starts[axis] = line.reshape([-1 if at == own else 1 for at in range(len(batch))])
    if starts:
        starts[0] = np.broadcast_to(starts[0], batch)
    return starts


def _elements(
    starts: Sequence[Array], window: Sequence[int], inner: Sequence[int]
) -> tuple[Array, ...]:
    """The places of every element of every window, window by window."""
    found = []
    for axis, start in enumerate(starts):
        own = np.asarray(start)[(..., *(None,) * len(inner))]
        if axis in inner and window[axis] > 1:
            line = np.arange(window[axis])
            own = own + line.reshape([-1 if each == axis else 1 for each in inner])
        found.append(own)
    if found:
        shape = tuple(window[axis] for axis in inner)
        lead = np.broadcast_shapes(*(each.shape[: each.ndim - len(inner)] for each in found))
        found[0] = np.broadcast_to(found[0], (*lead, *shape))
    return tuple(found)


def _placed(y: Array, offsets: Sequence[int], inner: int) -> Array:
    """The axes within windows, which stand last, at their places in the result."""
    return np.moveaxis(y, range(y.ndim - inner, y.ndim), offsets) if inner else y
