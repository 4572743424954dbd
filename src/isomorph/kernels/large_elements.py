"""Elementwise functions of large arrays, computed in parts by the threads of this process.

Parts write where no other does, so a result is the same bit by bit with any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.threads import run_all, thread_count

if TYPE_CHECKING:
    from isomorph.oracle.noise import Array

_LARGE = 1 << 18
"""Numbers of a result that is worth threads: a smaller one stays in the cache of a core."""
_PART = 1 << 16
"""Numbers of a part, at least."""
_MOST_PARTS = 16


def elementwise(function: Callable[..., Array], *operands: Array) -> Array:
    """``function`` of these arrays of floats, which are broadcast; its result has their type."""
    shape = np.broadcast_shapes(*(each.shape for each in operands))
    dtype = operands[0].dtype
    cuts = list(_cuts(shape))
    alike = dtype.kind == "f" and all(each.dtype == dtype for each in operands)
    if thread_count() == 1 or len(cuts) < 2 or not alike:
        return np.asarray(function(*operands))
    y = np.empty(shape, dtype)

    def compute(cut: tuple[int, slice]) -> None:
        axis, part = cut
        with np.errstate(all="ignore"):
            y[_at(y, axis, part, y.ndim)] = function(
                *(each[_at(each, axis, part, y.ndim)] for each in operands)
            )

    run_all([partial(compute, cut) for cut in cuts])
    return y


def copied(x: Array, into: Array) -> None:
    """Copy a large array into a view of another one."""
    cuts = list(_cuts(x.shape))
    if thread_count() == 1 or len(cuts) < 2:
        into[...] = x
        return

    def copy(cut: tuple[int, slice]) -> None:
        place = _at(x, *cut, x.ndim)
        into[place] = x[place]

    run_all([partial(copy, cut) for cut in cuts])


def _cuts(shape: tuple[int, ...]) -> Iterator[tuple[int, slice]]:
    """Yield the axis and the parts of it that a large result is computed in."""
    size = int(np.prod(shape, dtype=np.int64))
    axis = next((place for place, length in enumerate(shape) if length > 1), None)
    if axis is None or size < _LARGE:
        return
    count = min(shape[axis], size // _PART, _MOST_PARTS)
    each = -(-shape[axis] // count)
    for start in range(0, shape[axis], each):
        yield axis, slice(start, min(start + each, shape[axis]))


def _at(array: Array, axis: int, part: slice, rank: int) -> tuple[slice, ...]:
    """The place of a part of the broadcast result in one of the arrays."""
    own = axis - (rank - array.ndim)
    if own < 0 or array.shape[own] == 1:
        return ()
    return (*(slice(None),) * own, part)
