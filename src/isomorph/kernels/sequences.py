"""Sequences are lists, maps are dicts, absent optionals are None."""

from __future__ import annotations

from typing import Any

import numpy as np

from isomorph.kernels.data_movement import integers
from isomorph.kernels.registry import kernel
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array


@kernel("SequenceConstruct")
def construct(call: Call, *items: Array) -> list[Array]:
    """A list of its inputs."""
    return list(items)


@kernel("SequenceEmpty")
def empty(call: Call) -> list[Array]:
    """A list of nothing."""
    return []


@kernel("SequenceAt")
def at(call: Call, sequence: list[Array], place: Array) -> Array:
    """One element; negative places count from the end."""
    return sequence[integers(place)[0]]


@kernel("SequenceInsert")
def insert(call: Call, sequence: list[Array], item: Array, place: Array | None = None) -> list[Any]:
    """A copy with one element more, at the end unless a position is given."""
    where = len(sequence) if place is None else integers(place)[0]
    where = where + len(sequence) if where < 0 else where
    return [*sequence[:where], item, *sequence[where:]]


@kernel("SequenceErase")
def erase(call: Call, sequence: list[Array], place: Array | None = None) -> list[Any]:
    """A copy with one element less, the last unless a position is given."""
    where = (-1 if place is None else integers(place)[0]) % len(sequence)
    return [*sequence[:where], *sequence[where + 1 :]]


@kernel("SequenceLength")
def length(call: Call, sequence: list[Array]) -> Array:
    """How many elements there are."""
    return np.array(len(sequence), dtype=np.int64)


@kernel("ConcatFromSequence")
def concat_from_sequence(call: Call, sequence: list[Array]) -> Array:
    """One after another along an axis, or along a new one."""
    join = np.stack if call.attributes.get("new_axis") else np.concatenate
    return np.asarray(join(sequence, axis=call.attributes["axis"]))


@kernel("SplitToSequence")
def split_to_sequence(call: Call, x: Array, sizes: Array | None = None) -> list[Any]:
    """Cut along an axis; into single slices, without that axis if asked, unless sizes are given."""
    axis = call.attributes.get("axis", 0) % x.ndim
    if sizes is None:
        parts = np.split(x, x.shape[axis], axis=axis)
        return (
            list(parts) if call.attributes.get("keepdims", 1) else [p.squeeze(axis) for p in parts]
        )
    given = integers(sizes)
    if np.ndim(sizes) == 0:
        return np.split(x, range(given[0], x.shape[axis], given[0]), axis=axis)
    return np.split(x, np.cumsum(given)[:-1], axis=axis)


@kernel("ZipMap", domain="ai.onnx.ml")
def zip_map(call: Call, x: Array) -> list[dict[Any, Any]]:
    """A map from label to value for each row, as classifiers return their probabilities."""
    labels = call.attributes.get("classlabels_int64s") or call.attributes["classlabels_strings"]
    rows = x.reshape(-1, len(labels))
    return [dict(zip(labels, row, strict=True)) for row in rows]


@kernel("Optional")
def optional(call: Call, value: Any = None) -> Any:  # noqa: ANN401
    """The value itself, or None."""
    return value


@kernel("OptionalHasElement")
def has_element(call: Call, value: Any = None) -> Array:  # noqa: ANN401
    """Whether there is one."""
    return np.array(value is not None)


@kernel("OptionalGetElement")
def get_element(call: Call, value: Any) -> Any:  # noqa: ANN401
    """The value, which must be there."""
    if value is None:
        raise ValueError("the optional is empty")
    return value
