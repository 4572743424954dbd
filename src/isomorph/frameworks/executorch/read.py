"""From a file or bytes to a program, and back into a file."""

from __future__ import annotations

import hashlib
import mmap
import struct
from pathlib import Path
from typing import Any

from isomorph.core.errors import UnreadableModelError
from isomorph.frameworks.executorch.file_layout import IDENTIFIER, FileLayout
from isomorph.frameworks.executorch.parse import read_method
from isomorph.frameworks.executorch.program import PteProgram
from isomorph.store.atomic import new_file
from isomorph.store.safe_paths import require_file
from isomorph.store.targets import refuse_overwriting

_DAMAGE = (struct.error, ValueError, IndexError, OverflowError)
"""What reading damaged bytes raises."""
_USUAL = "forward"


def looks_like_program(head: bytes) -> bool:
    """Whether bytes begin as an ExecuTorch program."""
    return head[4:8] == IDENTIFIER


def open_path(path: Path) -> PteProgram:
    """Map a file; its weights are read from there when somebody wants them."""
    require_file(path)
    if path.stat().st_size == 0:
        raise _empty(str(path))
    with path.open("rb") as stream:
        view = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    return parsed(view, file=str(path), path=path)


def open_bytes(data: bytes) -> PteProgram:
    """Read a program that is already in memory."""
    if not data:
        raise _empty("bytes in memory")
    return parsed(data, file="bytes in memory")


def parsed(data: Any, *, file: str, path: Path | None = None) -> PteProgram:  # noqa: ANN401
    """The program in these bytes, or what is wrong with them. Arrays are views of ``data``."""
    view = memoryview(data)
    if not looks_like_program(bytes(view[:8])):
        raise UnreadableModelError(
            "NOT_A_MODEL",
            "this is not an ExecuTorch program",
            file=file,
            where="byte 4",
            why=f"the identifier {IDENTIFIER.decode()} is missing",
            fix="check what the file really is: a download may have saved an error page",
        )
    try:
        layout = FileLayout(view)
        plans = layout.root.tables(1)
        names = tuple(plan.text(0) for plan in plans)
        if not plans:
            raise ValueError("it has no method")
        chosen = names.index(_USUAL) if _USUAL in names else 0
        method = read_method(layout, plans[chosen], file=file)
        version = layout.root.integer(0, "I")
    except _DAMAGE as error:
        raise UnreadableModelError(
            "MODEL_TRUNCATED",
            f"the file is cut short or damaged ({len(view)} bytes)",
            file=file,
            why=f"the program cannot be read: {error}",
            fix="fetch or convert the file again and compare its size with the original's",
        ) from error
    return PteProgram(
        data=data,
        digest=hashlib.sha256(view).hexdigest(),
        method=names[chosen],
        methods=names,
        version=version,
        inputs=method.inputs,
        outputs=method.outputs,
        nodes=method.nodes,
        tensors=method.tensors,
        delegates=method.delegates,
        places=method.places,
        given=method.constants_in,
        indices=method.indices,
        path=path,
    )


def write(data: Any, path: Path, *, source: Path | None) -> None:  # noqa: ANN401
    """Write these bytes, complete or not at all, never over the file they were made from."""
    refuse_overwriting(path, source)
    with new_file(path) as stream:
        stream.write(data)


def _empty(file: str) -> UnreadableModelError:
    return UnreadableModelError(
        "MODEL_EMPTY", "the file is empty:", file=file, fix="fetch or convert the file again"
    )
