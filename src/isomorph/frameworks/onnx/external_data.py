"""Weights that lie beside the model file. They never lead out of the model's folder."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from isomorph.core.errors import IsomorphError, RefusedError, UnreadableModelError, UsageError
from isomorph.frameworks.onnx.stored_tensors import bits_of, stored_bytes, unpacked
from isomorph.store.safe_paths import LeadsOutError, path_inside

if TYPE_CHECKING:
    from isomorph.core.trace import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where in which file a tensor's bytes lie."""

    path: Path
    offset: int
    size: int
    hard_linked: bool


def is_external(tensor: Any) -> bool:  # noqa: ANN401
    """Whether the values lie in another file."""
    return bool(tensor.data_location == onnx.TensorProto.EXTERNAL)


def locate(tensor: Any, folder: Path | None, *, file: str, trusted: bool) -> Place:  # noqa: ANN401
    """Find a tensor's bytes, or raise an error that states why they cannot be read."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    where = f"tensor {tensor.name!r}"
    if folder is None:
        raise UsageError(
            "EXTERNAL_DATA_NO_FOLDER",
            "a model in memory refers to weights in another file",
            where=where,
            why="without a path there is no folder in which to look for them",
            fix="pass the path of the .onnx file, or load the weights into the ModelProto first",
        )
    path = _inside(entries.get("location", ""), folder, file=file, where=where)
    hard_linked = _regular(path, file=file, where=where, trusted=trusted)
    size = stored_bytes(tensor)
    offset = _number(entries.get("offset"), 0, file=file, where=where)
    length = _number(entries.get("length"), size, file=file, where=where)
    if length != size:
        raise UnreadableModelError(
            "TENSOR_SIZE_MISMATCH",
            f"declared {size} bytes, got {length}",
            file=file,
            where=where,
            why="the entry for its external data gives another length than type and shape",
            fix="export the model again",
        )
    actual = path.stat().st_size
    if offset < 0 or offset + size > actual:
        raise _short(
            f"expected {size} bytes at offset {offset}, the file has {actual}",
            file=file,
            where=f"{where} in {path.name!r}",
        )
    return Place(path=path, offset=offset, size=size, hard_linked=hard_linked)


def mapped(place: Place, tensor: Any) -> Array:  # noqa: ANN401
    """The values as a read-only view of the file; nothing is copied until it is touched."""
    shape = tuple(int(size) for size in tensor.dims)
    target = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type))
    if place.size == 0:
        return np.zeros(shape, target)
    raw = np.memmap(place.path, dtype=np.uint8, mode="r", offset=place.offset, shape=(place.size,))
    if bits_of(tensor.data_type) < 8:
        return unpacked(np.asarray(raw), tensor.data_type, shape)
    little = target.newbyteorder("<") if target.kind in "iufc" else target
    whole: Array = raw.view(little).reshape(shape)
    return whole


def _inside(location: str, folder: Path, *, file: str, where: str) -> Path:
    if not location:
        raise _short("no location is given for its external data", file=file, where=where)
    try:
        return path_inside(folder, location)
    except LeadsOutError as error:
        raise _escape(location, str(error), file=file, where=where) from error


def _regular(path: Path, *, file: str, where: str, trusted: bool) -> bool:
    try:
        status = os.lstat(path)
    except OSError as error:
        raise _short(
            f"the file {path.name!r} is missing", file=file, where=where, why=str(error.strerror)
        ) from error
    if not stat.S_ISREG(status.st_mode):
        raise _escape(path.name, "it is not a regular file", file=file, where=where)
    if status.st_nlink > 1 and not trusted:
        raise _escape(
            path.name,
            "it is a hard link, and its other name may lie anywhere",
            file=file,
            where=where,
            fix="copy the file, or pass --trust if a package cache made the link",
        )
    return status.st_nlink > 1


def _number(text: str | None, absent: int, *, file: str, where: str) -> int:
    try:
        return int(text) if text else absent
    except ValueError as error:
        raise _short(f"{text!r} is not a number of bytes", file=file, where=where) from error


def _escape(
    location: str,
    reason: str,
    *,
    file: str,
    where: str,
    fix: str = "put the data file beside the model and name it by its plain file name",
) -> IsomorphError:
    return RefusedError(
        "EXTERNAL_DATA_ESCAPE",
        f"external data {location!r} is not inside the model's folder",
        file=file,
        where=where,
        why=reason,
        fix=fix,
    )


def _short(what: str, *, file: str, where: str, why: str | None = None) -> IsomorphError:
    return UnreadableModelError(
        "EXTERNAL_DATA_SHORT",
        what,
        file=file,
        where=where,
        why=why,
        fix="fetch the data file again; it belongs beside the .onnx file, complete",
    )
