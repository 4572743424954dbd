"""From a file or bytes to a checked program, and back into a file."""

from __future__ import annotations

import hashlib
import mmap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph.core.errors import UnreadableModelError
from isomorph.frameworks.tflite.file_signature import looks_like_model
from isomorph.frameworks.tflite.parse import parse
from isomorph.store.atomic import new_file
from isomorph.store.safe_paths import require_file
from isomorph.store.targets import refuse_overwriting

if TYPE_CHECKING:
    from isomorph.frameworks.tflite.program import TfliteProgram

_HEAD = 64 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedModel:
    """A checked program with the digest of its bytes."""

    program: TfliteProgram
    digest: str


def open_path(path: Path) -> LoadedModel:
    """Map a file; its weights are read from there when somebody wants them."""
    file = str(path)
    _regular(path, file)
    with path.open("rb") as stream:
        view = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    return _opened(view, file=file, path=path)


def open_bytes(data: bytes) -> LoadedModel:
    """Read a flatbuffer that is already in memory."""
    file = "bytes in memory"
    if not data:
        raise _empty(file)
    return _opened(data, file=file)


def save(program: TfliteProgram, path: Path) -> None:
    """Write the flatbuffer to ``path``, complete or not at all, never over its own file."""
    write(program.data, path, source=program.path)


def write(data: Any, path: Path, *, source: Path | None) -> None:  # noqa: ANN401
    """Write these bytes, complete or not at all, never over the file they were made from."""
    refuse_overwriting(path, source)
    with new_file(path) as stream:
        stream.write(data)


def _opened(data: Any, *, file: str, path: Path | None = None) -> LoadedModel:  # noqa: ANN401
    if not looks_like_model(bytes(memoryview(data)[:_HEAD])):
        raise UnreadableModelError(
            "NOT_A_MODEL",
            "this is not a TFLite model",
            file=file,
            where="byte 4",
            why="the identifier TFL3 is missing, and the first table is no model's",
            fix="check what the file really is: a download may have saved an error page",
        )
    digest = hashlib.sha256(data).hexdigest()
    return LoadedModel(program=parse(data, file=file, path=path), digest=digest)


def _regular(path: Path, file: str) -> None:
    require_file(path)
    if path.stat().st_size == 0:
        raise _empty(file)


def _empty(file: str) -> UnreadableModelError:
    return UnreadableModelError(
        "MODEL_EMPTY", "the file is empty:", file=file, fix="fetch or convert the file again"
    )
