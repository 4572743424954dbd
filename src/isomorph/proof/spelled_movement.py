"""Movement of elements by its definition, for every framework alike."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Literal

import numpy as np

from isomorph.kernels import rearrangement
from isomorph.proof.sizes import kept_places, whole
from isomorph.proof.term import NoMeaningError, Term

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.kernels.strided_slice import StridedSlice
    from isomorph.proof.terms import Terms

Reflection = Literal["reflect", "symmetric"]
"""NumPy's modes of a border that repeats the tensor; the first one leaves out the edge itself."""


def squeezed(t: Terms, x: Term, axes: Sequence[int] | None) -> Term:
    """Without these axes, which must be of size 1; without all of that size where it is None."""
    if axes is None:
        axes = [at for at, n in enumerate(x.shape) if n == 1]
    places = {t.axis(x, axis) for axis in axes}
    if any(x.shape[at] != 1 for at in places):
        raise NoMeaningError("an axis that is not of size 1")
    return t.reshape(x, [n for at, n in enumerate(x.shape) if at not in places])


def unsqueezed(t: Terms, x: Term, axis: int) -> Term:
    """With a new axis of size 1 at this place of the result."""
    if not -x.rank - 1 <= axis <= x.rank:
        raise NoMeaningError("an axis that the result has not")
    at = axis % (x.rank + 1)
    return t.reshape(x, (*x.shape[:at], 1, *x.shape[at:]))


def parts(t: Terms, x: Term, axis: int, sizes: Sequence[int]) -> list[Term]:
    """Consecutive parts of one axis; one size may be -1 and takes what is left."""
    axis, sizes = t.axis(x, axis), [whole(size) for size in sizes]
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = x.shape[axis] - sum(size for size in sizes if size != -1)
    if sum(sizes) != x.shape[axis] or any(size < 0 for size in sizes):
        raise NoMeaningError("parts that do not add up")
    starts = accumulate([0, *sizes[:-1]])
    return [t.slice(x, axis, at, n) for at, n in zip(starts, sizes, strict=True)]


def equal_parts(t: Terms, x: Term, axis: int, count: int) -> list[Term]:
    """So many parts of one size."""
    place = t.axis(x, axis)
    if count < 1 or x.shape[place] % count:
        raise NoMeaningError("parts that do not add up")
    return parts(t, x, place, [x.shape[place] // count] * count)


def stacked(t: Terms, given: Sequence[Term], axis: int) -> Term:
    """Tensors side by side along a new axis."""
    rank = given[0].rank + 1
    if not -rank <= axis < rank:
        raise NoMeaningError("an axis that the result has not")
    return t.concat([unsqueezed(t, x, axis % rank) for x in given], axis % rank)


def unstacked(t: Terms, x: Term, axis: int) -> list[Term]:
    """The slices of one axis, each without it."""
    place = t.axis(x, axis)
    shape = (*x.shape[:place], *x.shape[place + 1 :])
    return [t.reshape(t.slice(x, place, at, 1), shape) for at in range(x.shape[place])]


def turned(t: Terms, x: Term) -> Term:
    """The first axis backward."""
    size = x.shape[0]
    return t.slice(x, 0, size - 1, size, -1) if size > 1 else x


def repeated(t: Terms, x: Term, times: Sequence[int]) -> Term:
    """Laid side by side, so often along each axis."""
    if len(times) != x.rank or min(times, default=1) < 1:
        raise NoMeaningError("repetitions that do not fit")
    for axis, count in enumerate(times):
        x = t.concat([x] * count, axis)
    return x


def picked(t: Terms, x: Term, indices: Term, axis: int) -> Term:
    """Elements of one axis at indices of which none may be negative."""
    if indices.op != "constant":
        return t.lookup(x, indices, axis)
    places = indices.value()
    if places.size and places.min() < 0:
        raise NoMeaningError("a negative index")
    return t.take(x, axis, places)


def bordered(t: Terms, x: Term, widths: Array, fill: Term | None) -> Term:
    """With a border of zeros or of one number; ``widths`` has a row for each axis."""
    rows = np.asarray(widths, np.int64).reshape(-1, 2)
    if len(rows) != x.rank or rows.min(initial=0) < 0:
        raise NoMeaningError("a border that does not fit")
    value = t.constant(np.zeros(()), x.dtype) if fill is None else t.reshape(fill, ())
    return t.pad(x, rows[:, 0].tolist(), rows[:, 1].tolist(), value)


def mirrored(t: Terms, x: Term, widths: Array, mode: Reflection) -> Term:
    """With a border of its own reflection, by NumPy's ``reflect`` or ``symmetric``."""
    rows = np.asarray(widths, np.int64).reshape(-1, 2)
    least = 1 if mode == "reflect" else 0
    for axis, (low, high) in enumerate(rows):
        if min(low, high) < 0 or max(low, high) > x.shape[axis] - least:
            raise NoMeaningError("a reflection that is wider than its tensor")
        if low or high:
            x = t.take(x, axis, np.pad(np.arange(x.shape[axis]), (low, high), mode=mode))
    return x


def part(t: Terms, x: Term, begin: Sequence[int], size: Sequence[int]) -> Term:
    """``size`` elements from ``begin`` on along every axis; -1 takes all that is left."""
    if len(begin) != x.rank or len(size) != x.rank:
        raise NoMeaningError("bounds that do not fit")
    for axis, (start, count) in enumerate(zip(begin, size, strict=True)):
        left = x.shape[axis] - start
        if count < -1 or start < 0 or (left if count == -1 else count) > left:
            raise NoMeaningError("a slice beyond its axis")
        x = t.slice(x, axis, start, left if count == -1 else count)
    return x


def strided(t: Terms, x: Term, by: StridedSlice) -> Term:
    """The slice by bounds, steps and masks."""
    count = len(by.begin)
    entries = sum(not (by.news | by.ellipsis) >> at & 1 for at in range(count))
    if not len(by.end) == len(by.strides) == count or entries > x.rank:
        raise NoMeaningError("bounds that do not fit")
    if by.ellipsis.bit_count() > 1 or not all(by.strides):
        raise NoMeaningError("bounds that do not fit")
    single = by.shrinks & ~(by.news | by.ellipsis)
    if any(single >> at & 1 and (by.strides[at] < 1 or by.begins >> at & 1) for at in range(count)):
        raise NoMeaningError("an element beyond its axis")
    axis = 0
    shape: list[int] = []
    for cut in by.cuts(x.shape):
        if cut is None:
            shape.append(1)
            continue
        size = x.shape[axis]
        if isinstance(cut, slice):
            step = 1 if cut.step is None else cut.step
            first, kept = kept_places(size, cut.start, cut.stop, step)
            x = t.slice(x, axis, first, kept, step)
            shape.append(kept)
        elif 0 <= cut < size:
            x = t.slice(x, axis, cut, 1)
        else:
            raise NoMeaningError("an element beyond its axis")
        axis += 1
    return t.reshape(x, shape)


def depth_to_space(t: Terms, x: Term, block: int) -> Term:
    """Blocks of channels, which stand last, become blocks of pixels."""
    return t.rearranged(x, rearrangement.last_depth_to_space, block)


def space_to_depth(t: Terms, x: Term, block: int) -> Term:
    """Blocks of pixels become blocks of channels, which stand last."""
    return t.rearranged(x, rearrangement.last_space_to_depth, block)


def space_to_batch(t: Terms, x: Term, block: Sequence[int], widths: Array) -> Term:
    """Padded, then every block of pixels spread over the batch."""
    rank = len(block)
    rest = x.rank - 1 - rank
    edges = np.asarray(widths, np.int64).reshape(-1, 2)
    x = bordered(t, x, np.concatenate([[[0, 0]], edges, np.zeros((rest, 2), np.int64)]), None)
    return t.rearranged(x, rearrangement.space_to_batch, block)


def batch_to_space(t: Terms, x: Term, block: Sequence[int], crops: Array) -> Term:
    """The way back, then cropped."""
    y = t.rearranged(x, rearrangement.batch_to_space, block)
    for axis, (low, high) in enumerate(np.asarray(crops, np.int64).reshape(-1, 2)):
        if min(low, high) < 0:
            raise NoMeaningError("crops that do not fit")
        kept = y.shape[1 + axis] - int(low) - int(high)
        y = t.slice(y, 1 + axis, int(low), kept)
    return y
