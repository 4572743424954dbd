"""What identifies a stored value, the same in every framework, so that weights can be matched."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from isomorph.core.model import Constant

if TYPE_CHECKING:
    import numpy as np

WEIGHTS, IN_ORDER = "weights", "in order"
"""An option of loading, and its value: nobody will look for weights in another order."""

SMALL = 16
"""Constants of at most this many elements keep their values."""

SMALL_IN_BODY = 1 << 16
"""Of constants in the body of a branch or loop, which no session shows."""

_only_in_order: ContextVar[bool] = ContextVar("only_in_order", default=False)

_BLOCK = 1 << 16
"""Elements mixed at a time: they stay in the cache."""

_LARGE_MATRIX = 1 << 22
"""Elements of a matrix from which on it is also known with its axes exchanged: to read two such
weights again and to compare them takes longer than to hash each of them twice. Of smaller ones, as
in a BERT of 110 million parameters, hashing all of them twice takes longer."""

_TURNED, _ROWS = 1 << 20, 64
"""Elements whose axes are exchanged at a time, and the rows of those that are copied before."""


def constant_of(name: str, array: np.ndarray[Any, Any], *, body: bool = False) -> Constant:
    """The neutral description of one stored value, of the graph itself or of a ``body`` in it.

    ``digest`` covers dtype, shape and the bytes in C order. ``value_digest`` covers dtype and
    the values in whatever order, so it survives any transposition. ``turned_digest`` is the
    ``digest`` of a large matrix with its axes exchanged, as frameworks store the same weight.
    Where only order was asked for, the second is another name of ``digest``, and the third is
    empty.
    """
    dtype = _dtype_name(array)
    shape = tuple(int(size) for size in array.shape)
    if array.dtype.kind in "OUST":
        return _constant_of_strings(name, array, shape)
    plain = _bytes_of(array)
    digest = _digest(dtype, shape, plain)
    return Constant(
        name=name,
        dtype=dtype,
        shape=shape,
        digest=digest,
        value_digest=digest if _only_in_order.get() else _value_digest(dtype, plain),
        turned_digest="" if _only_in_order.get() else _turned_digest(dtype, shape, plain),
        values=_values(array) if array.size <= (SMALL_IN_BODY if body else SMALL) else None,
    )


@contextmanager
def only_in_order() -> Iterator[None]:
    """Within, constants of the same values in another order have other digests.

    Whoever never looks for weights in another order saves a pass over all of them.
    """
    token = _only_in_order.set(True)
    try:
        yield
    finally:
        _only_in_order.reset(token)


def has_digest(array: np.ndarray[Any, Any], digest: str) -> bool:
    """Whether a constant with these numbers has this ``digest``."""
    shape = tuple(int(size) for size in array.shape)
    return _digest(_dtype_name(array), shape, _bytes_of(array)) == digest


def _digest(dtype: str, shape: tuple[int, ...], plain: np.ndarray[Any, Any]) -> str:
    digest = hashlib.sha256(f"{dtype}{list(shape)}".encode())
    digest.update(plain.data)
    return digest.hexdigest()


def _turned_digest(dtype: str, shape: tuple[int, ...], plain: np.ndarray[Any, Any]) -> str:
    """The digest with the axes exchanged; empty unless it is a large matrix."""
    import numpy as np

    if len(shape) != 2 or min(shape) < 2 or plain.size < _LARGE_MATRIX:
        return ""
    matrix = plain.reshape(shape)
    digest = hashlib.sha256(f"{dtype}{[shape[1], shape[0]]}".encode())
    width = max(1, _TURNED // shape[0])
    for start in range(0, shape[1], width):
        columns = matrix[:, start : start + width]
        turned = np.empty(columns.shape[::-1], plain.dtype)
        for row in range(0, shape[0], _ROWS):
            # Copied first: read across its rows, each number comes from another page.
            turned[:, row : row + _ROWS] = columns[row : row + _ROWS].copy().T
        digest.update(turned.data)
    return digest.hexdigest()


def _dtype_name(array: np.ndarray[Any, Any]) -> str:
    return "string" if array.dtype.kind in "OUST" else str(array.dtype.name)


def _bytes_of(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    # Unsigned integers of the same width: equal bits are equal, where NaN and -0.0 are not,
    # and NumPy can mix and hash them whatever package the dtype comes from.
    import numpy as np

    flat = np.ascontiguousarray(array).reshape(-1)
    width = flat.dtype.itemsize
    return flat.view(f"u{width}" if width <= 8 else np.uint64)


def _value_digest(dtype: str, plain: np.ndarray[Any, Any]) -> str:
    """Two sums of the mixed bit patterns: a sum does not know the order of its terms.

    They are of a mixed pattern and of its square: other values may have the same sum, or the same
    sum of squares, and not both of mixed patterns.
    """
    import numpy as np

    sums = [np.uint64(0), np.uint64(0)]
    space = np.empty((2, min(plain.size, _BLOCK)), np.uint64)
    with np.errstate(over="ignore"):
        for start in range(0, plain.size, _BLOCK):
            block = plain[start : start + _BLOCK]
            mixed, shifted = space[:, : block.size]
            np.copyto(mixed, block)
            mixed *= np.uint64(0x9E3779B97F4A7C15)
            for n in range(2):
                if n:
                    mixed *= mixed
                np.right_shift(mixed, np.uint64(32), out=shifted)
                mixed ^= shifted
                sums[n] += mixed.sum(dtype=np.uint64)
    text = f"{dtype} {plain.size} {int(sums[0]):x} {int(sums[1]):x}"
    return hashlib.sha256(text.encode()).hexdigest()


def _values(array: np.ndarray[Any, Any]) -> tuple[float | int | bool | str, ...]:
    if array.dtype.kind in "biuf":
        return tuple(array.reshape(-1).tolist())
    if array.dtype.kind == "c":
        return tuple(str(value) for value in array.reshape(-1).tolist())
    # The dtypes of ml_dtypes have no plain Python counterpart but are all small floats or integers.
    kind = int if "int" in array.dtype.name else float
    return tuple(kind(value) for value in array.reshape(-1))


def _constant_of_strings(
    name: str, array: np.ndarray[Any, Any], shape: tuple[int, ...]
) -> Constant:
    words = [word(value) for value in array.reshape(-1).tolist()]
    joined = "\0".join(words).encode("utf-8", "surrogatepass")
    in_order = "\0".join(sorted(words)).encode("utf-8", "surrogatepass")
    return Constant(
        name=name,
        dtype="string",
        shape=shape,
        digest=hashlib.sha256(f"string{list(shape)}".encode() + joined).hexdigest(),
        value_digest=hashlib.sha256(b"string" + in_order).hexdigest(),
        values=tuple(words) if len(words) <= SMALL else None,
    )


def word(value: object) -> str:
    """One element of a string tensor; bytes are read as UTF-8, and losslessly."""
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)
