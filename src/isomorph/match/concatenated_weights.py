"""Weights that were concatenated, split or reordered by blocks, and differ in few elements.

One framework stores the gates of a recurrent layer or the projections of attention in several
weights, another in one weight and in another order. The vectors in them are the same, so they are
looked up. Where nearly all are found, a missing one is compared with the unused vectors of the same
weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.limits import LOOKED_UP_NUMBERS, MISSING_VECTORS
from isomorph.core.stated_numbers import CLOSE_ELEMENTS, VECTOR_ELEMENTS

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.match.stored_weights import StoredWeight, Weights


@dataclass(frozen=True, slots=True, kw_only=True)
class ConcatenatedWeight:
    """The expected values of a weight, assembled from vectors of the reference's weights."""

    names: tuple[str, ...]
    expected: Array = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Vectors:
    """The vectors of one weight of the reference along one axis."""

    name: str
    rows: Array = field(repr=False)


def concatenated_weight(
    weight: StoredWeight, actual: Array, sources: Sequence[StoredWeight], reference: Weights
) -> ConcatenatedWeight | None:
    """Assemble a weight from the reference's vectors; None where too few of them are found."""
    if weight.grid is not None or actual.ndim < 1:
        return None
    if weight.size > LOOKED_UP_NUMBERS.most:
        LOOKED_UP_NUMBERS.reached()
        return None
    dtype = np.float16 if weight.dtype == "float16" else np.float32
    for back, rows in _views(actual):
        found = _matched(rows, list(_vectors(rows.shape[1], sources, reference)), dtype)
        if found is not None:
            names, expected = found
            return ConcatenatedWeight(names=names, expected=back(expected))
    return None


def _views(actual: Array) -> Iterator[tuple[_Back, Array]]:
    """Yield the vectors along the last axis, then along the one before it, then single elements."""
    shape = actual.shape
    if actual.ndim > 1 and shape[-1] >= VECTOR_ELEMENTS:
        yield _Back(shape=shape), actual.reshape(-1, shape[-1])
    if actual.ndim > 1 and shape[-2] >= VECTOR_ELEMENTS:
        turned = np.swapaxes(actual, -1, -2)
        yield _Back(shape=turned.shape, turned=True), turned.reshape(-1, shape[-2])
    if sum(size > 1 for size in shape[:-1]) <= 1:
        yield _Back(shape=shape), actual.reshape(-1, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Back:
    """Puts vectors back into the shape of the weight."""

    shape: tuple[int, ...]
    turned: bool = False

    def __call__(self, rows: Array) -> Array:
        whole = rows.reshape(self.shape)
        return np.swapaxes(whole, -1, -2) if self.turned else whole


def _vectors(
    length: int, sources: Sequence[StoredWeight], reference: Weights
) -> Iterator[_Vectors]:
    for source in sources:
        if source.grid is not None:
            continue
        if length == 1 and sum(size > 1 for size in source.shape) > 1:
            continue
        if length > 1 and length not in source.shape[-2:]:
            continue
        if source.size > LOOKED_UP_NUMBERS.most:
            LOOKED_UP_NUMBERS.reached()
            continue
        value = reference.real(source)
        if value is None:
            continue
        if length == 1:
            yield _Vectors(name=source.name, rows=value.reshape(-1, 1))
            continue
        if value.shape[-1] == length:
            yield _Vectors(name=source.name, rows=value.reshape(-1, length))
        if value.ndim > 1 and value.shape[-2] == length:
            turned = np.ascontiguousarray(np.swapaxes(value, -1, -2))
            yield _Vectors(name=source.name, rows=turned.reshape(-1, length))


def _matched(
    rows: Array, pool: Sequence[_Vectors], dtype: type[np.floating[Any]]
) -> tuple[tuple[str, ...], Array] | None:
    """Look up every vector in the pool; a missing one is replaced by the closest unused one."""
    where: dict[bytes, list[tuple[int, int]]] = {}
    for place, each in enumerate(pool):
        likely = _begin_alike(each.rows, rows, dtype)
        for index, key in zip(likely.tolist(), _keys(each.rows[likely], dtype), strict=True):
            where.setdefault(key, []).append((place, index))
    origins = [where.get(key, ()) for key in _keys(rows, dtype)]
    missing = [index for index, each in enumerate(origins) if not each]
    if not missing or 4 * len(missing) > len(origins):
        return None
    if len(missing) > MISSING_VECTORS.most:
        MISSING_VECTORS.reached()
        return None
    used = {origin for each in origins for origin in each}
    involved = {place for place, _ in used}
    expected = rows.copy()
    names = {pool[place].name: None for place in sorted(involved)}
    for index in missing:
        found = (
            _between_neighbors(index, origins, pool, used)
            if rows.shape[1] == 1
            else _left_over(rows[index], pool, involved, used)
        )
        if found is None:
            return None
        place, row = found
        used.add(found)
        expected[index] = pool[place].rows[row]
    return tuple(names), expected


def _begin_alike(pool: Array, rows: Array, dtype: type[np.floating[Any]]) -> Array:
    """Return the places of the vectors in ``pool`` that begin as one of ``rows`` does.

    No other one is equal to any, and one number sets most of them apart.
    """
    if not pool.shape[1]:
        return np.arange(len(pool))
    with np.errstate(over="ignore"):
        first, wanted = ((each[:, 0] + 0.0).astype(dtype) for each in (pool, rows))
    return np.flatnonzero(np.isin(first, wanted) | np.isnan(first))


def _keys(rows: Array, dtype: type[np.floating[Any]]) -> list[bytes]:
    """Return the lookup keys of vectors; they ignore the sign of zero."""
    with np.errstate(over="ignore"):
        narrow = np.ascontiguousarray((rows + 0.0).astype(dtype))
    return [row.tobytes() for row in narrow]


def _left_over(
    vector: Array, pool: Sequence[_Vectors], involved: set[int], used: set[tuple[int, int]]
) -> tuple[int, int] | None:
    """Return the unused vector that agrees with ``vector`` in most of its elements."""
    best, found = vector.size // 2, None
    for place in involved:
        close = np.abs(pool[place].rows - vector) <= CLOSE_ELEMENTS * np.abs(vector)
        for row in np.flatnonzero(np.count_nonzero(close, axis=1) > best):
            if (place, int(row)) not in used:
                best, found = int(np.count_nonzero(close[row])), (place, int(row))
    return found


def _between_neighbors(
    index: int,
    origins: Sequence[Sequence[tuple[int, int]]],
    pool: Sequence[_Vectors],
    used: set[tuple[int, int]],
) -> tuple[int, int] | None:
    """Return the unused element that lies between the origins of both neighbors."""
    sides: Mapping[int, set[tuple[int, int]]] = {
        step: {
            (place, row - step)
            for place, row in (origins[index + step] if 0 <= index + step < len(origins) else ())
            if 0 <= row - step < len(pool[place].rows)
        }
        for step in (-1, 1)
    }
    agreed = sides[-1] & sides[1] if sides[-1] and sides[1] else sides[-1] | sides[1]
    free = [each for each in agreed if each not in used]
    return free[0] if len(free) == 1 else None
