"""Models that are one file, or its bytes in memory: opened, and written as copies."""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from typing import Any, Protocol, TypeVar

from isomorph.core.errors import UnreadableModelError, UsageError
from isomorph.store.atomic import new_file
from isomorph.store.safe_paths import require_file
from isomorph.store.targets import refuse_overwriting

T_co = TypeVar("T_co", covariant=True)


class Reads(Protocol[T_co]):
    """Reads a model from bytes, which its arrays may be views of."""

    def __call__(self, data: Any, *, file: str, path: Path | None = None) -> T_co:  # noqa: ANN401
        """The model; errors name ``file``, which lies at ``path`` where there is one."""
        ...


def opened(source: Any, read: Reads[T_co], *, framework: str, suffix: str) -> tuple[T_co, str]:  # noqa: ANN401
    """The model of a path or of bytes, and its location.

    A file is mapped: its weights are read from there when somebody wants them.
    """
    if isinstance(source, (str, Path)):
        path, location = Path(source), str(source)
        return read(mapped(path), file=str(path), path=path), location
    if not isinstance(source, (bytes, bytearray)):
        raise UsageError(
            "UNSUPPORTED_SOURCE",
            f"framework {framework!r} cannot read a {type(source).__name__}",
            fix=f"pass the path of a {suffix} file or its bytes",
        )
    location = "bytes in memory"
    return read(_some(bytes(source), location), file=location), location


def mapped(path: Path, *, empty: bytes | None = None) -> Any:  # noqa: ANN401
    """The bytes of a regular file; one without any is refused, unless it stands for ``empty``."""
    require_file(path)
    # Should it have become a pipe since, it is opened without waiting for a writer.
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(number, "rb"):
        if os.fstat(number).st_size:
            return mmap.mmap(number, 0, access=mmap.ACCESS_READ)
    return _some(b"", str(path)) if empty is None else empty


def _some(data: bytes, file: str) -> bytes:
    if not data:
        raise UnreadableModelError(
            "MODEL_EMPTY", "the file is empty:", file=file, fix="fetch or convert the file again"
        )
    return data


def write_copy(data: Any, path: Path, *sources: Path | str | None) -> Path:  # noqa: ANN401
    """Write these bytes, complete or not at all, never over a file they were made from."""
    refuse_overwriting(path, *sources)
    with new_file(path) as stream:
        stream.write(data)
    return path
