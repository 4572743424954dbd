"""Sparse constants of TFLite written out: levels of dense and compressed axes, in any order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from isomorph.core.trace import Array

_SPARSE = 1


def densified(values: Array, sparsity: Any, shape: tuple[int, ...]) -> Array:  # noqa: ANN401
    """The whole array; what is not stored is zero.

    The format walks the axes in ``traversalOrder``; axes after the tensor's own are positions
    inside a block, and ``blockMap`` states which axis each of them refines. ValueError where the
    levels do not fit the shape.
    """
    order = [int(axis) for axis in sparsity.traversalOrder]
    levels = list(sparsity.dimMetadata)
    if sorted(order) != list(range(len(levels))):
        raise ValueError("the traversal order is no order of the levels")
    coordinates: list[Array] = []
    place = np.zeros(1, np.int64)
    for level in levels:
        kept, own, place = _descended(level, place)
        coordinates = [each[kept] for each in coordinates]
        coordinates.append(own)
    if place.size and (place.max() >= values.size or place.min() < 0):
        raise ValueError("the levels point behind the stored values")
    by_axis = {axis: coordinates[position] for position, axis in enumerate(order)}
    sizes = {axis: int(levels[position].denseSize) for position, axis in enumerate(order)}
    whole = np.zeros(shape, values.dtype)
    whole[_own_axes(sparsity, by_axis, sizes, len(shape))] = values[place]
    return whole


def _descended(level: Any, place: Array) -> tuple[Array, Array, Array]:  # noqa: ANN401
    """For every position of the next level: its parent, its coordinate, and where it is stored."""
    if level.format != _SPARSE:
        size = int(level.denseSize)
        kept = np.repeat(np.arange(place.size), size)
        own = np.tile(np.arange(size), place.size)
        return kept, own, place[kept] * size + own
    segments = np.asarray(level.arraySegments.values, np.int64)
    indices = np.asarray(level.arrayIndices.values, np.int64)
    if place.size and place.max() + 1 >= segments.size:
        raise ValueError("a compressed level has too few segments")
    counts = segments[place + 1] - segments[place]
    if (counts < 0).any():
        raise ValueError("the segments of a compressed level run backwards")
    kept = np.repeat(np.arange(place.size), counts)
    first = np.repeat(segments[place] - np.cumsum(counts) + counts, counts)
    stored = first + np.arange(int(counts.sum()))
    return kept, indices[stored], stored


def _own_axes(
    sparsity: Any,  # noqa: ANN401
    by_axis: dict[int, Array],
    sizes: dict[int, int],
    rank: int,
) -> tuple[Array, ...]:
    blocks = [int(axis) for axis in (sparsity.blockMap if sparsity.blockMap is not None else ())]
    whole = []
    for axis in range(rank):
        coordinate = by_axis[axis]
        if axis in blocks:
            inner = rank + blocks.index(axis)
            coordinate = coordinate * sizes[inner] + by_axis[inner]
        whole.append(coordinate)
    return tuple(whole)
