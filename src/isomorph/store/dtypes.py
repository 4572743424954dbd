"""Element types by name, and the bytes of an array, whichever package the type comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.digest import word
from isomorph.core.lazy import require

if TYPE_CHECKING:
    from isomorph.core.trace import Array, Value

STRING = "string"

_NUMPY = frozenset(
    {
        "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
        "float16", "float32", "float64", "complex64", "complex128",
    }
)  # fmt: skip


def dtype_name(dtype: np.dtype[Any]) -> str:
    """The name of a type in NumPy or ml_dtypes; ``string`` for every kind of text."""
    return STRING if dtype.kind in "OUST" else str(dtype.name)


def dtype_of(name: str) -> np.dtype[Any]:
    """The type of that name, or ValueError: a name read from a file is data, not code."""
    if name in _NUMPY:
        return np.dtype(name)
    if name == STRING:
        return np.dtype(object)
    ml_dtypes = require("ml_dtypes", extra="all", needed_for=f"the element type {name}")
    found = getattr(ml_dtypes, name, None)
    if isinstance(found, type) and issubclass(found, np.generic):
        return np.dtype(found)
    raise ValueError(f"{name!r} is not an element type")


def bytes_of(array: Array) -> memoryview:
    """The elements in C order; copies only what does not lie in memory that way."""
    # NumPy hands out no buffer for the types of ml_dtypes, but it does for their bytes.
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(np.uint8).data


def words_of(array: Array) -> list[str]:
    """The elements of a string tensor in C order; bytes are read as UTF-8, and losslessly."""
    return [word(value) for value in array.reshape(-1).tolist()]


def strings(words: list[str], shape: tuple[int, ...]) -> Array:
    """A string tensor: an array of Python strings."""
    array = np.empty(len(words), dtype=object)
    array[:] = words
    return array.reshape(shape)


def same_bits(left: Value, right: Value) -> bool:
    """Whether two arrays are equal to the last bit, NaN and signed zeros included."""
    if not isinstance(left, np.ndarray) or not isinstance(right, np.ndarray):
        return False
    if left.dtype != right.dtype or left.shape != right.shape:
        return False
    if left.dtype.kind in "OUS":
        return bool(np.array_equal(left, right))
    one, other = (np.ascontiguousarray(side).reshape(-1).view(np.uint8) for side in (left, right))
    return bool(np.array_equal(one, other))
