"""From the bytes of a file to a program."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

from isomorph.core.errors import UnreadableModelError
from isomorph.frameworks.executorch.file_layout import IDENTIFIER, FileLayout
from isomorph.frameworks.executorch.parse import read_method
from isomorph.frameworks.executorch.program import PteProgram

_DAMAGE = (struct.error, ValueError, IndexError, OverflowError)
"""What reading damaged bytes raises."""
_USUAL = "forward"


def parsed(data: Any, *, file: str, path: Path | None = None) -> PteProgram:  # noqa: ANN401
    """The program in these bytes, or what is wrong with them. Arrays are views of ``data``."""
    view = memoryview(data)
    if view[4:8] != IDENTIFIER:
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
        program = read_method(layout, plans[chosen], file=file)
        version = layout.root.integer(0, "I")
    except _DAMAGE as error:
        raise UnreadableModelError(
            "MODEL_TRUNCATED",
            f"the file is cut short or damaged ({len(view)} bytes)",
            file=file,
            why=f"the program cannot be read: {error}",
            fix="fetch or convert the file again and compare its size with the original's",
        ) from error
    return replace(
        program,
        data=data,
        digest=hashlib.sha256(view).hexdigest(),
        methods=names,
        version=version,
        path=path,
    )
