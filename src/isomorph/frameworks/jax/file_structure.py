"""What an exported JAX function looks like as bytes; read without JAX, and with suspicion.

``Exported.serialize`` writes a flatbuffer without an identifier. Its root table holds a StableHLO
module, whose bytecode has a signature of its own.
"""

from __future__ import annotations

import mmap
from pathlib import Path

from isomorph.store.flatbuffer import Buffer, DamagedFlatbufferError

SIGNATURE = b"ML\xefR"
"""MLIR bytecode."""

_MODULE = 13
"""The field of the root table that holds the module."""


def looks_like_export(path: Path, head: bytes) -> bool:
    """Whether a file begins as an exported function does; it may be cut off behind that."""
    if len(head) < 4:
        return False
    with (
        path.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
        memoryview(data) as view,
    ):
        return _module_in(view) is not None


def place_of_module(data: bytes) -> tuple[int, int] | None:
    """Where the StableHLO module begins in a file, and how long it should be.

    None where the file is no exported function, or is damaged before its module.
    """
    return _module_in(memoryview(data))


def _module_in(data: memoryview) -> tuple[int, int] | None:
    buffer = Buffer(data)
    try:
        field = buffer.root().place_of(_MODULE)
        count = field + buffer.number("I", field)
        start, size = count + 4, buffer.number("I", count)
    except DamagedFlatbufferError:
        return None
    return (start, size) if bytes(data[start : start + len(SIGNATURE)]) == SIGNATURE else None
