"""From the bytes of a file to a checked program."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph.core.errors import UnreadableModelError
from isomorph.frameworks.tflite.file_signature import looks_like_model
from isomorph.frameworks.tflite.parse import parse

if TYPE_CHECKING:
    from isomorph.frameworks.tflite.program import TfliteProgram

_HEAD = 64 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedModel:
    """A checked program with the digest of its bytes."""

    program: TfliteProgram
    digest: str


def loaded(data: Any, *, file: str, path: Path | None = None) -> LoadedModel:  # noqa: ANN401
    """The program in these bytes; its arrays are views of them."""
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
