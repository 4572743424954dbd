"""NumPy's own array format, read without pickle, with its stated size checked."""

from __future__ import annotations

import math
from pathlib import Path
from tokenize import TokenError
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.lib import format as npy_format

if TYPE_CHECKING:
    from typing import IO

    from isomorph.core.trace import Array

_READERS = {
    (1, 0): npy_format.read_array_header_1_0,
    (2, 0): npy_format.read_array_header_2_0,
}


class NpyError(Exception):
    """The bytes are no array that can be used."""


class HoldsObjectsError(Exception):
    """The array of this name holds pickled Python objects, which are not unpickled."""


def map_npy(path: Path) -> Array:
    """The array of a .npy file, mapped; what is written to it stays in memory."""
    return map_part(path, 0, path.stat().st_size, path.name)


def map_part(path: Path, start: int, end: int, name: str) -> Array:
    """The array that these bytes of a file are, as where an archive stores it uncompressed."""
    with path.open("rb") as file:
        file.seek(start)
        shape, order, dtype = _header(file, end, name)
        if not math.prod(shape):
            return np.empty(shape, dtype)
        mapped = np.memmap(file, dtype, mode="c", offset=file.tell(), shape=shape, order=order)
    return _native(np.asarray(mapped))


def read_npy(stream: IO[bytes], size: int, name: str) -> Array:
    """The array in a stream of ``size`` bytes."""
    shape, order, dtype = _header(stream, size, name)
    data = bytearray(stream.read())
    if len(data) != math.prod(shape) * dtype.itemsize:
        raise NpyError(f"{name!r} ends early")
    return _native(np.frombuffer(data, dtype).reshape(shape, order=order))


def _native(array: Array) -> Array:
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _header(
    stream: IO[bytes] | BinaryIO, size: int, name: str
) -> tuple[tuple[int, ...], Any, np.dtype[Any]]:
    try:
        version = npy_format.read_magic(stream)
        if version not in _READERS:
            raise NpyError(f"{name!r} is of .npy version {version}, which is not read")
        shape, is_fortran, dtype = _READERS[version](stream)
    # NumPy reads a header that is no literal once more as Python 2 wrote it, token by token.
    except (ValueError, SyntaxError, RecursionError, MemoryError, TokenError) as error:
        raise NpyError(f"{name!r} is no array: {error}") from error
    _check_type(name, dtype)
    if any(extent < 0 for extent in shape):
        raise NpyError(f"{name!r} has a negative size: {shape}")
    needed = math.prod(shape) * dtype.itemsize  # in Python integers, which do not overflow
    if needed != size - stream.tell():
        raise NpyError(f"{name!r} needs {needed} bytes and has {size - stream.tell()}")
    return shape, "F" if is_fortran else "C", dtype


def _check_type(name: str, dtype: np.dtype[Any]) -> None:
    if dtype.hasobject:
        raise HoldsObjectsError(name)
    if dtype.kind not in "biufcUS":
        raise NpyError(
            f"{name!r} is of type {dtype}, which is no element type of a tensor; "
            "bfloat16 and narrower types are kept by safetensors only"
        )
