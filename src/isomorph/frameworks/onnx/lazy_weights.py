"""Large weights stay in the file they came from: the graph alone is held in memory.

A worker that runs or evaluates a model wants one weight at a time, and a runtime reads the file
by itself. So the bytes of large tensors are left where they lie, and read when they are asked for.
"""

from __future__ import annotations

import math
import mmap
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from isomorph.core.errors import UnreadableModelError
from isomorph.store.protobuf import BYTES, BrokenWireError, fields

if TYPE_CHECKING:
    from isomorph.core.trace import Array

WORTHWHILE = 8 << 20
"""A file whose large tensors take less than this is simply held."""

_LARGE = 64 << 10
_GRAPH, _INITIALIZER, _RAW_DATA = 7, 5, 9
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


def outlined(proto: Any, path: Path) -> tuple[Any, Left] | None:  # noqa: ANN401
    """The model without its large tensors, and where they lie; None where that is not worth it."""
    tensors = list(proto.graph.initializer)
    large = [index for index, tensor in enumerate(tensors) if _may_stay(tensor)]
    names = [tensors[index].name for index in large]
    if sum(len(tensors[index].raw_data) for index in large) < WORTHWHILE:
        return None
    with path.open("rb") as file:
        identity = _identity(file.fileno())
        whole = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        with whole, memoryview(whole) as view:
            places = _places(view)
    if places is None or len(places) != len(tensors) or len(set(names)) != len(names):
        return None
    starts = {}
    for index in large:
        start, size = places[index]
        if size != len(tensors[index].raw_data):
            return None
        starts[tensors[index].name] = start
        tensors[index].ClearField("raw_data")
    # What is cleared is given back only with the whole message, so a new one is made.
    outline = onnx.ModelProto.FromString(proto.SerializeToString())
    return outline, Left(path=path.absolute(), starts=starts, identity=identity)


def _may_stay(tensor: Any) -> bool:  # noqa: ANN401
    return (
        tensor.data_type in _PLAIN
        and bool(tensor.name)
        and tensor.data_location != onnx.TensorProto.EXTERNAL
        and tensor.HasField("raw_data")
        and len(tensor.raw_data) >= _LARGE
    )


def _places(view: memoryview) -> list[tuple[int, int]] | None:
    """Where the raw bytes of each initializer of the main graph begin, and how many they are."""
    try:
        whole = [each for each in fields(view, 0, len(view)) if each.number == _GRAPH]
        if len(whole) != 1 or whole[0].wire != BYTES:
            return None
        found = []
        for entry in fields(view, whole[0].start, whole[0].end):
            if entry.number == _INITIALIZER:
                raw = [f for f in fields(view, entry.start, entry.end) if f.number == _RAW_DATA]
                found.append((raw[-1].start, raw[-1].end - raw[-1].start) if raw else (0, 0))
    except BrokenWireError:
        return None
    return found


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
