"""Large matrix products in blocks, each computed by one thread.

The blocks follow from the shapes alone, so that the result is the same bit by bit with any number
of threads. Threads of BLAS itself wait for one another, and cut a product by their number.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.threads import run_all

if TYPE_CHECKING:
    from isomorph.oracle.noise import Array

_BLOCK_WORK = 1 << 23
"""Products of numbers in a block, at least: about a millisecond, far more than to start it."""
_SHORTEST = 256
"""Rows or columns of a block, at least: every block reads the other matrix whole."""
_MOST_BLOCKS = 16
_ROUNDED_TO = 16
"""Blocks end where the tiles of a BLAS end."""


def matrix_product(a: Array, b: Array, out: Array | None = None) -> Array:
    """``a @ b`` of two matrices of floats, into ``out`` if it is given."""
    (rows, inner), columns = a.shape, b.shape[1]
    by_rows = rows > columns
    cuts = _cuts(rows if by_rows else columns, rows * inner * columns)
    if len(cuts) < 2 or np.result_type(a, b).kind != "f":
        return np.asarray(np.matmul(a, b, out=out))
    y = np.empty((rows, columns), np.result_type(a, b)) if out is None else out

    def block(cut: slice) -> None:
        if by_rows:
            np.matmul(a[cut], b, out=y[cut])
        else:
            np.matmul(a, b[:, cut], out=y[:, cut])

    run_all([partial(block, cut) for cut in cuts])
    return y


def _cuts(length: int, work: int) -> list[slice]:
    """The blocks of an axis of this length in a product of so much work."""
    count = min(work // _BLOCK_WORK, length // _SHORTEST, _MOST_BLOCKS)
    if count < 2:
        return [slice(0, length)]
    each = _ROUNDED_TO * math.ceil(length / count / _ROUNDED_TO)
    return [slice(start, min(start + each, length)) for start in range(0, length, each)]
