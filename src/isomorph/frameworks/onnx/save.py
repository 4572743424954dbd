"""Writing a model: a copy, complete or not there at all, and never over what it came from."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import onnx
from google.protobuf.message import EncodeError  # type: ignore[import-untyped]

from isomorph.core.errors import UsageError
from isomorph.frameworks.onnx.external_data import is_external, locate
from isomorph.frameworks.onnx.model import stored_tensors
from isomorph.store.atomic import refuse_link
from isomorph.store.targets import refuse_overwriting

if TYPE_CHECKING:
    from isomorph.frameworks.onnx.model import OnnxModel

ALIGNMENT = 4096
"""External tensors begin at multiples of this, so that any runtime can map them."""
_CHUNK = 1 << 24


def save(model: OnnxModel, path: Path) -> None:
    """Write ``model`` to ``path``; external weights go into ``<name>.data`` beside it."""
    data = path.with_name(f"{path.name}.data")
    external = [tensor for _, tensor in stored_tensors(model.proto) if is_external(tensor)]
    for target in (path, data) if external else (path,):
        _refuse(target, model, external)
    proto = model.proto
    if external:
        proto = onnx.ModelProto()
        proto.CopyFrom(model.proto)
        with _replacing(data) as stream:
            _write_weights(proto, model, stream, data.name)
    with _replacing(path) as stream:
        stream.write(_serialized(proto, path))


def _serialized(proto: Any, path: Path) -> bytes:  # noqa: ANN401
    try:
        return bytes(proto.SerializeToString())
    except (EncodeError, ValueError) as error:
        raise UsageError(
            "MODEL_TOO_LARGE",
            "the model holds more than protobuf can write into one file",
            file=str(path),
            why=str(error),
            fix="keep its weights external: onnx.save(..., save_as_external_data=True)",
        ) from error


def _refuse(target: Path, model: OnnxModel, external: list[Any]) -> None:
    refuse_link(target)
    sources = [model.path] if model.path is not None else []
    for tensor in external:
        place = locate(tensor, model.folder, file=str(model.path or ""), trusted=model.trusted)
        sources.append(place.path)
    refuse_overwriting(target, *sources)


def _write_weights(proto: Any, model: OnnxModel, stream: BinaryIO, name: str) -> None:  # noqa: ANN401
    for _, tensor in stored_tensors(proto):
        if not is_external(tensor):
            continue
        place = locate(tensor, model.folder, file=str(model.path or ""), trusted=model.trusted)
        stream.write(b"\0" * (-stream.tell() % ALIGNMENT))
        offset = stream.tell()
        if place.size:
            view = np.memmap(place.path, np.uint8, "r", place.offset, (place.size,))
            for start in range(0, place.size, _CHUNK):
                stream.write(view[start : start + _CHUNK].data)
        del tensor.external_data[:]
        location = {"location": name, "offset": str(offset), "length": str(place.size)}
        for key, value in location.items():
            tensor.external_data.add(key=key, value=value)


@contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    """A temporary file that takes the final name only once it is complete and on disk."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".isomorph-", suffix=".part")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
