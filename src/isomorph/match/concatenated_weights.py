"""Weights that were joined, split or reordered block by block, with few numbers that differ.

Gates of a recurrent layer, the parts of an attention: what one framework keeps in several weights
stands in one weight of another, in another order. The vectors that they are made of are the same,
so they are looked up; where nearly all are found, one that is not is held against those of the
same weights that are left over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.limits import LOOKED_UP_NUMBERS, MISSING_VECTORS

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.match.stored_weights import StoredWeight, Weights

_CLOSE = 2.0**-10
"""By which numbers of a spoiled vector are known again: a rounding to float16 and some."""
_FEWEST = 4
"""Numbers of a vector by which it is known again; a shorter one may be anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """What a weight should hold, put together from vectors of the reference's weights."""

    names: tuple[str, ...]
    expected: Array = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Vectors:
    """The vectors of one weight of the reference along one axis."""

    name: str
    rows: Array = field(repr=False)


def joined(
    weight: StoredWeight, held: Array, sources: Sequence[StoredWeight], reference: Weights
) -> Joined | None:
    """The weight as the reference's vectors make it up; None where most of it is not theirs."""
    if weight.grid is not None or held.ndim < 1:
        return None
    if weight.size > LOOKED_UP_NUMBERS.most:
        LOOKED_UP_NUMBERS.reached()
        return None
    dtype = np.float16 if weight.dtype == "float16" else np.float32
    for back, rows in _views(held):
        found = _matched(rows, list(_vectors(rows.shape[1], sources, reference)), dtype)
        if found is not None:
            names, expected = found
            return Joined(names=names, expected=back(expected))
    return None


def _views(held: Array) -> Iterator[tuple[_Back, Array]]:
    """The vectors along the last axis, then along the one before it, then single numbers."""
    shape = held.shape
    if held.ndim > 1 and shape[-1] >= _FEWEST:
        yield _Back(shape=shape), held.reshape(-1, shape[-1])
    if held.ndim > 1 and shape[-2] >= _FEWEST:
        turned = np.swapaxes(held, -1, -2)
        yield _Back(shape=turned.shape, turned=True), turned.reshape(-1, shape[-2])
    if sum(size > 1 for size in shape[:-1]) <= 1:
        yield _Back(shape=shape), held.reshape(-1, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Back:
    """From vectors to the weight."""

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
    """Every vector from the pool, and the nearest one left over where one is missing."""
    where: dict[bytes, list[tuple[int, int]]] = {}
    for place, each in enumerate(pool):
        for index, key in enumerate(_keys(each.rows, dtype)):
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
            _beside(index, origins, pool, used)
            if rows.shape[1] == 1
            else _left_over(rows[index], pool, involved, used)
        )
        if found is None:
            return None
        place, row = found
        used.add(found)
        expected[index] = pool[place].rows[row]
    return tuple(names), expected


def _keys(rows: Array, dtype: type[np.floating[Any]]) -> list[bytes]:
    """What vectors are looked up by; the sign of zero says nothing."""
    with np.errstate(over="ignore"):
        narrow = np.ascontiguousarray((rows + 0.0).astype(dtype))
    return [row.tobytes() for row in narrow]


def _left_over(
    wanted: Array, pool: Sequence[_Vectors], involved: set[int], used: set[tuple[int, int]]
) -> tuple[int, int] | None:
    """The vector nobody else holds that agrees with this one in most of its numbers."""
    best, found = wanted.size // 2, None
    for place in involved:
        close = np.abs(pool[place].rows - wanted) <= _CLOSE * np.abs(wanted)
        for row in np.flatnonzero(np.count_nonzero(close, axis=1) > best):
            if (place, int(row)) not in used:
                best, found = int(np.count_nonzero(close[row])), (place, int(row))
    return found


def _beside(
    index: int,
    origins: Sequence[Sequence[tuple[int, int]]],
    pool: Sequence[_Vectors],
    used: set[tuple[int, int]],
) -> tuple[int, int] | None:
    """The number that stands between those from which the neighbors come, if nobody holds it."""
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
