"""From a file, bytes or a ModelProto to a model that has been checked and can be described."""

from __future__ import annotations

import hashlib
import mmap
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
from google.protobuf.message import (  # type: ignore[import-untyped]
    DecodeError,
    EncodeError,
)

from isomorph.core.errors import UnreadableModelError
from isomorph.frameworks.onnx.external_data import is_external, locate
from isomorph.frameworks.onnx.file_structure import anatomy, looks_like_model
from isomorph.frameworks.onnx.lazy_weights import Left, read_outline
from isomorph.frameworks.onnx.model import OnnxModel, model_of, stored_tensors
from isomorph.frameworks.onnx.stored_tensors import check_declared, check_size
from isomorph.frameworks.onnx.validate import nesting_too_deep, validate
from isomorph.store.safe_paths import require_file

PROTOBUF_LIMIT = 1 << 31
DECODER_DEPTH = 31
"""Graphs inside graphs that a decoder with the usual limit of 100 messages can read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedModel:
    """A checked model with the digest of its bytes and the notes made while reading."""

    model: OnnxModel
    digest: str
    notes: tuple[str, ...]


def open_path(path: Path, *, trusted: bool) -> LoadedModel:
    """Read a file; weights beside it are checked but not read."""
    file = str(path)
    _regular(path, file)
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as view:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
        # The parser reads from the mapping, so the file is in memory once and not twice.
        data = memoryview(view)
        try:
            found = read_outline(data, path, stream.fileno())
            if found is not None and not _ambiguous(*found):
                outline, left = found
                model = model_of(outline, path=path, trusted=trusted, left=left)
            else:
                model = model_of(parse(data, file=file), path=path, trusted=trusted)
        finally:
            data.release()
    return _checked(model, digest, file=file)


def _ambiguous(outline: Any, left: Left) -> bool:  # noqa: ANN401
    """Whether a tensor inside a node or a body has the name of one that was left in the file."""
    names = Counter(tensor.name for _, tensor in stored_tensors(outline))
    return any(names[name] > 1 for name in left.starts)


def open_bytes(data: bytes) -> LoadedModel:
    """Read a serialized model that is already in memory."""
    file = "bytes in memory"
    if not data:
        raise _empty(file)
    proto = parse(memoryview(data), file=file)
    return _checked(model_of(proto), hashlib.sha256(data).hexdigest(), file=file)


def open_proto(proto: Any) -> LoadedModel:  # noqa: ANN401
    """Take a live ModelProto as it is; it is never changed."""
    try:
        digest = hashlib.sha256(proto.SerializeToString(deterministic=True)).hexdigest()
    except (EncodeError, ValueError):
        # More than protobuf can write: the digests of the constants identify it later.
        digest = ""
    return _checked(model_of(proto), digest, file="ModelProto in memory")


def parse(data: memoryview, *, file: str) -> Any:  # noqa: ANN401
    """The ModelProto in these bytes, or what is wrong with them."""
    if not looks_like_model(bytes(data[:4096])):
        raise UnreadableModelError(
            "NOT_A_MODEL",
            "this is not an ONNX model",
            file=file,
            where="byte 0",
            why="its first bytes are not the fields of a serialized ModelProto",
            fix="check what the file really is: a download may have saved an error page",
        )
    try:
        return onnx.ModelProto.FromString(data)
    except DecodeError as error:
        shape = anatomy(data)
        if shape.broken_at is None and shape.depth > DECODER_DEPTH:
            raise nesting_too_deep(shape.depth, file=file) from error
        where = f"byte {shape.broken_at} of {len(data)}" if shape.broken_at is not None else None
        raise UnreadableModelError(
            "MODEL_TRUNCATED",
            f"the file is cut short or damaged ({len(data)} bytes):",
            file=file,
            where=where,
            why=f"the parser reports: {error}",
            fix="fetch or export the file again and compare its size with the original's",
        ) from error


def _checked(model: OnnxModel, digest: str, *, file: str) -> LoadedModel:
    validate(model.outline, file=file)
    notes: dict[str, None] = {}
    for where, tensor in stored_tensors(model.outline):
        check_declared(tensor, file=file, where=where)
        if model.left is not None and model.left.holds(tensor):
            continue
        if not is_external(tensor):
            check_size(tensor, file=file, where=where)
            continue
        place = locate(tensor, model.folder, file=file, trusted=model.trusted)
        if place.hard_linked:
            notes[f"external data {place.path.name!r} is a hard link, read because of --trust"] = (
                None
            )
    return LoadedModel(model=model, digest=digest, notes=tuple(notes))


def _regular(path: Path, file: str) -> None:
    require_file(path)
    size = path.stat().st_size
    if size == 0:
        raise _empty(file)
    if size >= PROTOBUF_LIMIT:
        raise UnreadableModelError(
            "MODEL_TOO_LARGE",
            f"the file has {size} bytes, and protobuf reads less than 2 GiB",
            file=file,
            fix="save the model with external data (onnx.save(..., save_as_external_data=True))",
        )


def _empty(file: str) -> UnreadableModelError:
    return UnreadableModelError(
        "MODEL_EMPTY",
        "the file is empty:",
        file=file,
        why="it has 0 bytes, which a parser would take for a model without nodes",
        fix="fetch or export the file again",
    )
