"""Products with a large stored matrix, lifted to float64 block by block.

A matrix that nothing keeps in float64 is lifted for each product. Block by block it never leaves
the cache of the processor, and no memory of its size is asked of the system. Blocks follow from
the shape alone: no number of threads changes a bit of the result.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from isomorph.core.threads import run_all

if TYPE_CHECKING:
    from isomorph.core.execution import StoredProducts

Array = NDArray[Any]

LARGE = 1 << 20
"""Numbers from which on a matrix is lifted in blocks: smaller ones fit the cache as a whole."""

_MOST_COLUMNS, _FEWEST_COLUMNS = 48, 8
"""Columns of a block: enough for the tiles of a BLAS."""
_BLOCK = 1 << 19
"""Numbers of a block, at most: they stay in the cache."""
_MOST_PARTS = 16
_PART_WORK = 1 << 23
"""Products of numbers in the part of a thread, at least: far more than to start it."""

_own = threading.local()

_accelerator: ContextVar[StoredProducts | None] = ContextVar("products elsewhere", default=None)


@contextmanager
def multiplying_by(products: StoredProducts | None) -> Iterator[None]:
    """Within, products with stored matrices are computed by ``products``, as far as it takes them.

    None stands for the processor.
    """
    token = _accelerator.set(products)
    try:
        yield
    finally:
        _accelerator.reset(token)


class StoredMatrix:
    """A matrix in its stored type, which stands for its numbers in float64 in a product.

    ``absolute``: it stands for their sizes, whose products are computed in float32: seven digits
    are plenty for the size of a rounding. Anything else reads it as an array of float64.
    """

    ndim = 2
    dtype = np.dtype(np.float64)

    def __init__(self, stored: Array, *, absolute: bool = False) -> None:
        self.stored = stored
        self.shape: tuple[int, int] = stored.shape
        self._absolute = absolute
        self._prepared: list[tuple[Array, Array]] = []
        self._shared: SharedSizes | None = None
        self._turned: StoredMatrix | None = None

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:  # noqa: ANN401
        wide = np.asarray(self.stored, np.float64)
        return np.asarray(np.abs(wide) if self._absolute else wide, dtype)

    def sizes(self) -> StoredMatrix:
        """The matrix of the sizes of its numbers."""
        return StoredMatrix(self.stored, absolute=True)

    @property
    def T(self) -> StoredMatrix:  # noqa: N802 - as NumPy calls it
        """The transposed matrix, with the products that were prepared for it."""
        if self._turned is None:
            self._turned = StoredMatrix(self.stored.T, absolute=self._absolute)
        return self._turned

    def products(self, operands: Sequence[Array]) -> list[Array]:
        """``a @ self`` for each of these, in one pass over the matrix."""
        rows = [_rows(each) for each in operands]
        found = self._multiplied(np.concatenate(rows))
        ends = np.cumsum([len(each) for each in rows])
        return [
            found[end - len(own) : end].reshape(*operand.shape[:-1], self.shape[1])
            for operand, own, end in zip(operands, rows, ends, strict=True)
        ]

    def prepare(self, operands: Sequence[Array], sized: Sequence[Array] = ()) -> None:
        """Compute the products with all of these at once; ``product`` then returns each once.

        The sizes of the products with those ``sized`` are computed at once as well, as soon as
        ``product_sizes`` is asked for one of them.
        """
        self._prepared = list(zip(operands, self.products(operands), strict=True))
        self._shared = SharedSizes(self, sized)

    def release(self) -> None:
        """Release what was prepared."""
        self._prepared, self._shared = [], None

    def multiplies(self, a: Any) -> bool:  # noqa: ANN401
        """Whether ``a @ self`` is a product that it computes."""
        fits = isinstance(a, np.ndarray) and a.dtype == np.float64 and a.ndim >= 2
        return fits and a.shape[-1] == self.shape[0] and a.size > 0

    def product(self, a: Array) -> Array:
        """``a @ self``, in float64."""
        for place, (operand, found) in enumerate(self._prepared):
            if operand is a:
                # Draws that were fed one array have a product each: a kernel may add to it.
                del self._prepared[place]
                return found
        return self._multiplied(_rows(a)).reshape(*a.shape[:-1], self.shape[1])

    def product_sizes(self, a: Array) -> Array:
        """The sizes of the terms that ``a @ self`` adds."""
        shared = None if self._shared is None else self._shared.of(a)
        return self.sizes().product(np.abs(a)) if shared is None else shared

    def _multiplied(self, rows: Array) -> Array:
        accelerator = _accelerator.get()
        if accelerator is not None:
            found = accelerator.product(rows, self.stored, absolute=self._absolute)
            if found is not None:
                return found
        if not self._absolute:
            return self._in_blocks(rows, np.empty((len(rows), self.shape[1])))
        # A power of two for each row keeps its numbers within the range of float32.
        with np.errstate(all="ignore"):
            largest = np.frexp(np.max(np.abs(rows), axis=1, keepdims=True))[1]
            near_one = np.ldexp(rows, -largest).astype(np.float32)
            found = self._in_blocks(near_one, np.empty((len(rows), self.shape[1]), np.float32))
            return np.ldexp(found.astype(np.float64), largest)

    def _in_blocks(self, rows: Array, found: Array) -> Array:
        parts = _parts(rows, self.shape[1])
        run_all([partial(self._part, rows, part, found) for part in parts])
        return found

    def _part(self, rows: Array, part: slice, found: Array) -> None:
        inner, most = self.shape[0], _columns(rows)
        # In the order in which the numbers are stored.
        by_columns = self.stored.strides[0] < self.stored.strides[1]
        buffer = _buffer(inner * most, rows.dtype)
        for start in range(part.start, part.stop, most):
            columns = slice(start, min(start + most, part.stop))
            width = columns.stop - start
            flat = buffer[: inner * width]
            block = flat.reshape(width, inner).T if by_columns else flat.reshape(inner, width)
            # Threads do not inherit how errors are handled.
            with np.errstate(all="ignore"):
                np.copyto(block, self.stored[:, columns], casting="unsafe")
                if self._absolute:
                    np.abs(flat, out=flat)
                np.matmul(rows, block, out=found[:, columns])


class SharedSizes:
    """The sizes of the products of several operands with one matrix, computed in one pass over it.

    They are computed when the first of them is asked for: most draws know theirs from before.
    """

    def __init__(self, matrix: StoredMatrix, operands: Sequence[Array]) -> None:
        self._matrix, self._operands = matrix, operands
        self._found: list[Array] | None = None

    def of(self, operand: Array) -> Array | None:
        """Those of the product with this operand; None where it is none of them."""
        place = next((at for at, own in enumerate(self._operands) if own is operand), None)
        if place is None:
            return None
        if self._found is None:
            self._found = self._matrix.sizes().products([np.abs(own) for own in self._operands])
        return self._found[place]


def is_large_matrix(value: Any) -> bool:  # noqa: ANN401
    """Whether this is a matrix that is worth to be lifted in blocks."""
    return isinstance(value, np.ndarray) and value.ndim == 2 and value.size >= LARGE


def _rows(a: Array) -> Array:
    return a.reshape(math.prod(a.shape[:-1]), a.shape[-1])


def _parts(rows: Array, columns: int) -> list[slice]:
    """The columns of each thread: whole blocks."""
    width = _columns(rows)
    blocks = math.ceil(columns / width)
    count = max(1, min(rows.size * columns // _PART_WORK, blocks, _MOST_PARTS))
    each = width * math.ceil(blocks / count)
    return [slice(start, min(start + each, columns)) for start in range(0, columns, each)]


def _columns(rows: Array) -> int:
    """The columns of a block that these rows are multiplied with."""
    inner, shorter = rows.shape[1], 8 // rows.itemsize
    most = min(_MOST_COLUMNS, _BLOCK // inner // 8 * 8)
    return int(shorter * max(_FEWEST_COLUMNS, most))


def _buffer(size: int, dtype: np.dtype[Any]) -> Array:
    """Memory of this thread that is used again: fresh pages cost more than to fill them."""
    kept: Array | None = getattr(_own, "buffer", None)
    if kept is None or kept.nbytes < size * dtype.itemsize:
        kept = _own.buffer = np.empty(size * dtype.itemsize // 8 + 1)
    return kept.view(dtype)[:size]
