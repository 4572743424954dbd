"""Tensors between processes: one raw file per message, mapped by the receiver.

The receiver deletes the file as soon as it has mapped it. The system keeps the bytes until the
last array is gone, so nothing has to be counted, and a crash leaves at most one message behind.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from isomorph.core.errors import RuntimeFailedError
from isomorph.store.codec import decode, encode
from isomorph.store.dtypes import STRING, bytes_of, dtype_name, dtype_of, strings, words_of

if TYPE_CHECKING:
    from isomorph.core.trace import Array, Value

ALIGNMENT = 64
MAPPED_BYTES = 1 << 20
"""From this size on a message is mapped. A mapping holds a file descriptor, a copy none."""

_CHUNK = 64 << 20
_SMALL = 1 << 16
"""Arrays below this size are written together."""


class Outbox:
    """Writes values into numbered files of one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._count = folder, 0

    def pack(self, values: Mapping[str, Value]) -> dict[str, Any]:
        """Write the arrays of one message; return the JSON header that locates them."""
        self._count += 1
        with ArrayMessage(self._folder / f"{self._count}.bin", at_once=True) as message:
            for name, value in values.items():
                message.put(name, value)
        return message.header()

    def message(self) -> ArrayMessage:
        """A message whose values come one by one."""
        self._count += 1
        return ArrayMessage(self._folder / f"{self._count}.bin")


class ArrayMessage:
    """One message, written while its values are still being computed.

    ``at_once``: all of them are there already, and an array in several of them is written once.
    """

    def __init__(self, path: Path, *, at_once: bool = False) -> None:
        self._path, self._file = path, path.open("xb", buffering=0)
        self._values: list[list[Any]] = []
        self._size = 0
        self._waiting = bytearray()
        self._at_once = at_once
        self._placed: dict[int, tuple[Array, int]] = {}

    def put(self, name: str, value: Any) -> Any:  # noqa: ANN401
        """Write a value; return the JSON that locates it."""
        packed = _pack(value, self._place_array)
        self._values.append([name, packed])
        return packed

    def put_mapped(self, name: str, value: Any) -> Any:  # noqa: ANN401
        """Write a value; return it, mapped from the file if it is large."""
        packed = self.put(name, value)
        plain = isinstance(value, np.ndarray) and value.dtype.kind in "fiub"
        if not plain or value.nbytes < MAPPED_BYTES:
            return value
        place = packed["offset"]
        return np.memmap(self._path, value.dtype, mode="r", offset=place, shape=value.shape)

    def header(self) -> dict[str, Any]:
        """The JSON header that locates the arrays in the file."""
        name = self._path.name if self._size else None
        return {"file": name, "size": self._size, "values": self._values}

    def _place_array(self, array: Array) -> int:
        """Write an array, a large one once in a message; return where it is."""
        if not self._at_once or array.nbytes < _SMALL:
            return self._place(bytes_of(array))
        if id(array) not in self._placed:
            # The array is kept with its place, so that no other takes its identity.
            self._placed[id(array)] = array, self._place(bytes_of(array))
        return self._placed[id(array)][1]

    def _place(self, data: memoryview) -> int:
        """Write these bytes, small ones together with the next; return where they are."""
        offset = -(-self._size // ALIGNMENT) * ALIGNMENT
        self._waiting += bytes(offset - self._size)
        if data.nbytes < _SMALL:
            self._waiting += data
        else:
            self._write(data)
        self._size = offset + data.nbytes
        if len(self._waiting) >= _SMALL:
            self._write()
        return offset

    def _write(self, *more: memoryview) -> None:
        """Write what waits, and ``more`` behind it."""
        try:
            for data in (memoryview(self._waiting), *more):
                _write(self._file, data)
        except OSError as error:
            needed = len(self._waiting) + sum(data.nbytes for data in more)
            raise _disk_full(error, self._path.parent, needed) from error
        self._waiting = bytearray()

    def __enter__(self) -> ArrayMessage:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        complete = False
        try:
            if kind is None:
                self._write()
                complete = self._size > 0
        finally:
            self._file.close()
            if not complete:
                self._path.unlink(missing_ok=True)


def _pack(value: Any, place: Callable[[Array], int]) -> Any:  # noqa: ANN401
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        return {"list": [_pack(item, place) for item in value]}
    if isinstance(value, Mapping):
        return {"map": [[encode(key), _pack(item, place)] for key, item in value.items()]}
    if not isinstance(value, (np.ndarray, np.generic)):
        return {"plain": encode(value)}
    array = np.asarray(value)
    entry: dict[str, Any] = {"dtype": dtype_name(array.dtype), "shape": list(array.shape)}
    if entry["dtype"] == STRING:
        return entry | {"words": words_of(array)}
    dtype_of(entry["dtype"])  # what the receiver cannot name must fail here
    return entry | {"offset": place(array)}


def _write(file: BinaryIO, data: memoryview) -> None:
    # Written, not mapped: a full disk is then an error here instead of a bus error.
    at = 0
    while at < len(data):
        at += file.write(data[at : at + _CHUNK])


def _disk_full(error: OSError, folder: Path, needed: int) -> RuntimeFailedError:
    free = os.statvfs(folder)
    return RuntimeFailedError(
        "DISK_FULL",
        "tensors could not be written to the temporary folder",
        why=f"{error.strerror}; {needed} bytes are needed in {folder}, "
        f"and {free.f_bavail * free.f_frsize} are free there",
        fix="free some disk space, or set TMPDIR to a folder on a larger disk",
    )


def unpack(folder: Path, packed: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a message. The arrays are private copies and may be written to."""
    buffer: mmap.mmap | bytearray | None = None
    if packed["file"] is not None:
        buffer = _take(folder / packed["file"], packed["size"])
    known: dict[tuple[Any, ...], Array] = {}
    return {name: _unpack(value, buffer, known) for name, value in packed["values"]}


def _take(path: Path, size: int) -> mmap.mmap | bytearray:
    with path.open("rb") as file:
        path.unlink()
        if size < MAPPED_BYTES:
            return bytearray(file.read())
        return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY)


def _unpack(
    value: Any,  # noqa: ANN401
    buffer: mmap.mmap | bytearray | None,
    known: dict[tuple[Any, ...], Array],
) -> Any:  # noqa: ANN401
    if value is None:
        return None
    if "list" in value:
        return [_unpack(item, buffer, known) for item in value["list"]]
    if "map" in value:
        return {decode(Any, key): _unpack(item, buffer, known) for key, item in value["map"]}
    if "plain" in value:
        return decode(Any, value["plain"])
    shape = tuple(value["shape"])
    if value["dtype"] == STRING:
        return strings(value["words"], shape)
    dtype = dtype_of(value["dtype"])
    count = int(np.prod(shape, dtype=object)) if shape else 1
    if buffer is None or count == 0:
        return np.empty(shape, dtype)
    # What was written once is one array again.
    place = value["offset"], value["dtype"], shape
    if place not in known:
        known[place] = _view(buffer, value["offset"], dtype, count).reshape(shape)
    return known[place]


def _view(buffer: mmap.mmap | bytearray, offset: int, dtype: np.dtype[Any], count: int) -> Array:
    # By way of bytes, because NumPy reads no buffer as a type of ml_dtypes.
    raw = np.frombuffer(buffer, np.uint8, count * dtype.itemsize, offset)
    view: Array = raw.view(dtype)
    return view


def mapping_of(array: Array) -> mmap.mmap | None:
    """The file mapping behind an array from a worker; None for any other array."""
    owner: object = array
    while isinstance(owner, (np.ndarray, memoryview)):
        owner = owner.base if isinstance(owner, np.ndarray) else owner.obj
    return owner if isinstance(owner, mmap.mmap) else None


def release_pages(array: Array) -> None:
    """Drop the mapped pages of an array from memory; reading it again loads them from its file."""
    mapping = mapping_of(array)
    if mapping is not None and hasattr(mmap, "MADV_DONTNEED"):
        mapping.madvise(mmap.MADV_DONTNEED)
