"""The safetensors format, read with distrust and mapped instead of copied.

Eight bytes of length, a JSON header, then the tensors without a gap. Reading it ourselves
bounds what a hostile header can cost, and knows every element type that the format knows.
"""

from __future__ import annotations

import json
import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from isomorph.core.untrusted_json import read_json
from isomorph.store.dtypes import bytes_of, dtype_name, dtype_of

if TYPE_CHECKING:
    from isomorph.core.trace import Array

HEADER_BYTES = 16 << 20
ENTRIES = 65_536
"""More tensors than any model has in one file; the limits bound the time and memory of a read."""

METADATA = "__metadata__"

_LENGTH = struct.Struct("<Q")

CODES = {
    "bool": "BOOL", "uint8": "U8", "int8": "I8", "uint16": "U16", "int16": "I16",
    "uint32": "U32", "int32": "I32", "uint64": "U64", "int64": "I64", "float16": "F16",
    "bfloat16": "BF16", "float32": "F32", "float64": "F64", "complex64": "C64",
    "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2", "float8_e8m0fnu": "F8_E8M0",
}  # fmt: skip
"""What the format calls each element type that it has."""

_NAMES = {code: name for name, code in CODES.items()}


class FormatError(Exception):
    """The file is not what the format prescribes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Where one tensor lies, counted from the start of the file."""

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


def read_header(path: Path) -> dict[str, Entry]:
    """The tensors of a file, every claim checked against the file's size."""
    size = path.stat().st_size
    with path.open("rb") as file:
        prefix = file.read(_LENGTH.size)
        if len(prefix) < _LENGTH.size:
            raise FormatError(f"{size} bytes are too few for a header")
        (length,) = _LENGTH.unpack(prefix)
        if length > min(HEADER_BYTES, size - _LENGTH.size):
            raise FormatError(f"the header claims {length} bytes; the file has {size}")
        header = _parse(file.read(length))
    if len(header) > ENTRIES:
        raise FormatError(f"the header lists {len(header)} tensors; {ENTRIES} are allowed")
    start = _LENGTH.size + length
    entries = {
        name: _entry(name, entry, start) for name, entry in header.items() if name != METADATA
    }
    _check_layout(entries, start, size)
    return entries


def _parse(raw: bytes) -> dict[str, Any]:
    try:
        header = read_json(raw, pairs=_without_repetition)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"the header is no JSON: {error}") from error
    if not isinstance(header, dict):
        raise FormatError("the header is no JSON object")
    return header


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _entry(name: str, entry: Any, start: int) -> Entry:  # noqa: ANN401
    try:
        dtype, shape, (begin, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
        numbers = [*shape, begin, end]
    except (TypeError, KeyError, ValueError) as error:
        raise FormatError(f"the entry of {name!r} is incomplete") from error
    if any(type(number) is not int or number < 0 for number in numbers):
        raise FormatError(f"the entry of {name!r} has sizes that are no sizes")
    if not isinstance(dtype, str) or dtype not in _NAMES:
        raise FormatError(f"{name!r} is of an unknown type {dtype!r}")
    count = 1
    for extent in shape:
        count *= extent  # Python integers: a product that overflows must not fit again
    if end - begin != count * dtype_of(_NAMES[dtype]).itemsize:
        raise FormatError(f"{name!r} needs another number of bytes than it claims")
    return Entry(dtype=_NAMES[dtype], shape=tuple(shape), begin=start + begin, end=start + end)


def _check_layout(entries: Mapping[str, Entry], start: int, size: int) -> None:
    at = start
    for entry in sorted(entries.values(), key=lambda entry: (entry.begin, entry.end)):
        if entry.begin != at:
            raise FormatError("tensors overlap or leave a gap")
        at = entry.end
    if at != size:
        raise FormatError(f"the tensors end at byte {at}; the file has {size}")


def read(path: Path) -> dict[str, Array]:
    """The tensors of a file, mapped: read when looked at; what is written stays in memory."""
    entries = read_header(path)
    if all(entry.begin == entry.end for entry in entries.values()):
        return {name: np.empty(e.shape, dtype_of(e.dtype)) for name, e in entries.items()}
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    return {name: _view(mapped, entry) for name, entry in entries.items()}


def _view(mapped: mmap.mmap, entry: Entry) -> Array:
    raw = np.frombuffer(mapped, np.uint8, entry.end - entry.begin, entry.begin)
    dtype = dtype_of(entry.dtype)
    # The format aligns nothing, and an unaligned view is slow and refused by some readers.
    if entry.begin % dtype.itemsize:
        raw = raw.copy()
    view: Array = raw.view(dtype).reshape(entry.shape)
    return view


def write(file: BinaryIO, arrays: Mapping[str, Array]) -> None:
    """Write the tensors; their types must be in ``CODES``, and none may be named METADATA."""
    header: dict[str, Any] = {}
    at = 0
    # Widest elements first, as the format's own writer does, so that each is aligned.
    names = sorted(arrays, key=lambda name: -arrays[name].dtype.itemsize)
    for name in names:
        array = arrays[name]
        entry = {"dtype": CODES[dtype_name(array.dtype)], "shape": list(array.shape)}
        header[name] = entry | {"data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    raw = json.dumps(header).encode("ascii")
    raw += b" " * (-len(raw) % 8)
    file.write(_LENGTH.pack(len(raw)))
    file.write(raw)
    for name in names:
        file.write(bytes_of(arrays[name]))
