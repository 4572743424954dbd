"""Large weights stay in the file they came from: the graph alone is held in memory.

A worker that runs or evaluates a model wants one weight at a time, and a runtime reads the file
by itself. So the bytes of large tensors are left where they lie, and read when they are asked for.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from isomorph.core.errors import UnreadableModelError
from isomorph.frameworks.onnx.stored_tensors import stored_bytes
from isomorph.store.protobuf import BYTES, BrokenWireError, Field, fields

if TYPE_CHECKING:
    from isomorph.core.trace import Array

WORTHWHILE = 8 << 20
"""A file whose large tensors take less than this is simply held."""

# Up to this size a tensor may be the shape of another one (``shapes.SMALL_BYTES``), and is held.
_LARGE = 64 << 10
_GRAPH, _INITIALIZER = 7, 5
_DATA_TYPE, _RAW_DATA, _DATA_LOCATION = 2, 9, 14
_GRAPH_KEY, _INITIALIZER_KEY = (bytes((number << 3 | BYTES,)) for number in (_GRAPH, _INITIALIZER))
# Types whose bytes in the file are those that NumPy reads; others are rarely large.
_PLAIN = {
    onnx.TensorProto.FLOAT: "<f4",
    onnx.TensorProto.DOUBLE: "<f8",
    onnx.TensorProto.FLOAT16: "<f2",
    onnx.TensorProto.INT8: "i1",
    onnx.TensorProto.UINT8: "u1",
    onnx.TensorProto.INT32: "<i4",
    onnx.TensorProto.INT64: "<i8",
}


@dataclass(slots=True, kw_only=True, eq=False)
class Left:
    """What was left in a file: where the bytes of each tensor begin."""

    path: Path
    starts: dict[str, int]
    identity: tuple[int, int, int]
    _whole: Any = field(default=None)

    def holds(self, tensor: Any) -> bool:  # noqa: ANN401
        """Whether the values of this tensor lie in the file."""
        return tensor.name in self.starts and not tensor.HasField("raw_data")

    def array(self, tensor: Any) -> Array:  # noqa: ANN401
        """The values, read now."""
        shape = tuple(int(size) for size in tensor.dims)
        dtype, count = np.dtype(_PLAIN[tensor.data_type]), math.prod(shape)
        with self.path.open("rb") as file:
            if _identity(file.fileno()) != self.identity:
                raise _changed(self.path)
            file.seek(self.starts[tensor.name])
            flat = np.fromfile(file, dtype=dtype, count=count)
        if flat.size != count:
            raise _changed(self.path)
        return flat.reshape(shape)

    def filled(self, tensor: Any) -> Any:  # noqa: ANN401
        """A copy of the tensor with its bytes in it."""
        copy = onnx.TensorProto()
        copy.CopyFrom(tensor)
        if self.holds(tensor):
            copy.raw_data = self.array(tensor).tobytes()
        return copy

    def whole(self, outline: Any) -> Any:  # noqa: ANN401
        """The model as it was read, for those who write or change it; kept from then on."""
        if self._whole is None:
            copy = onnx.ModelProto()
            copy.CopyFrom(outline)
            for tensor in copy.graph.initializer:
                if self.holds(tensor):
                    tensor.raw_data = self.array(tensor).tobytes()
            self._whole = copy
        return self._whole


def read_outline(view: memoryview, path: Path, descriptor: int) -> tuple[Any, Left] | None:
    """The model in these bytes without its large tensors, and where they lie.

    None where that is not worth it, or where the bytes are unusual or damaged: then the whole
    file is to be parsed, which reports what is wrong with it.
    """
    try:
        found = _without_large_tensors(view)
        outline = None if found is None else onnx.ModelProto.FromString(found[0])
    except (BrokenWireError, DecodeError):
        return None
    if found is None or outline is None:
        return None
    starts: dict[str, int] = {}
    for tensor, place in zip(outline.graph.initializer, found[1], strict=True):
        if place is not None:
            # A tensor is recognized by its name, and its bytes are exactly its values.
            if not tensor.name or tensor.name in starts or place.size != stored_bytes(tensor):
                return None
            starts[tensor.name] = place.start
    return outline, Left(path=path.absolute(), starts=starts, identity=_identity(descriptor))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where the raw bytes of a tensor begin, how many they are, and where their field begins."""

    start: int
    size: int
    field_at: int


def _without_large_tensors(view: memoryview) -> tuple[bytes, list[_Place | None]] | None:
    """The bytes of a model without the values of large initializers of its graph.

    The places are those of the values that were left out, one for each initializer; None where it
    is complete.
    """
    parts = [each for each in _within(view, 0, len(view)) if each.number == _GRAPH]
    if len(parts) != 1 or parts[0].wire != BYTES:
        return None
    graph = parts[0]
    pieces: list[bytes | memoryview] = []
    places: list[_Place | None] = []
    copied = graph.start
    for entry in _within(view, graph.start, graph.end):
        if entry.number != _INITIALIZER:
            continue
        place = _large_values(view, entry)
        places.append(place)
        if place is not None:
            end = place.start + place.size
            kept = bytes(view[entry.start : place.field_at]) + bytes(view[end : entry.end])
            pieces += [view[copied : entry.at], _INITIALIZER_KEY, _encoded(len(kept)), kept]
            copied = entry.end
    if sum(place.size for place in places if place is not None) < WORTHWHILE:
        return None
    body = b"".join((*pieces, view[copied : graph.end]))
    outer = view[: graph.at], _GRAPH_KEY, _encoded(len(body)), body, view[graph.end :]
    return b"".join(outer), places


def _large_values(view: memoryview, tensor: Field) -> _Place | None:
    """Where the values of a tensor lie, if they are large and stored as NumPy reads them."""
    if tensor.wire != BYTES:
        raise BrokenWireError(tensor.start)
    if tensor.end - tensor.start <= _LARGE:
        return None
    entries = list(_within(view, tensor.start, tensor.end))
    raw = [each for each in entries if each.number == _RAW_DATA]
    types = [each.value for each in entries if each.number == _DATA_TYPE]
    elsewhere = any(each.number == _DATA_LOCATION and each.value for each in entries)
    if len(raw) != 1 or raw[0].wire != BYTES or elsewhere or not _PLAIN.keys() & types[-1:]:
        return None
    size = raw[0].end - raw[0].start
    return _Place(start=raw[0].start, size=size, field_at=raw[0].at) if size > _LARGE else None


def _within(view: memoryview, start: int, end: int) -> Iterator[Field]:
    """The fields between two offsets, none of which goes beyond."""
    for each in fields(view, start, end):
        if each.end > end:
            raise BrokenWireError(each.start)
        yield each


def _encoded(number: int) -> bytes:
    """A number as the wire format writes it, in as few bytes as it takes."""
    found = bytearray()
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*found, number))


def _identity(descriptor: int) -> tuple[int, int, int]:
    about = os.fstat(descriptor)
    return about.st_ino, about.st_size, about.st_mtime_ns


def _changed(path: Path) -> UnreadableModelError:
    return UnreadableModelError(
        "MODEL_CHANGED",
        "the model is no longer what it was when it was first read",
        file=str(path),
        why="something wrote to it meanwhile",
        fix="run again when nothing writes to it",
    )
