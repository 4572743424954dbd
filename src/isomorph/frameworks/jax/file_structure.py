"""What an exported JAX function looks like as bytes; read without JAX, and with suspicion.

``Exported.serialize`` writes a flatbuffer without an identifier. Its root table holds a StableHLO
module, whose bytecode has a signature of its own.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

SIGNATURE = b"ML\xefR"
"""MLIR bytecode."""

_MODULE = 30
"""Where the table of an exported function refers to its module."""
_FEWEST_FIELDS, _MOST_FIELDS = 17, 64

Bytes = Callable[[int, int], bytes]
"""So many bytes from a place in a file; fewer where it ends."""


def looks_like_export(path: Path, head: bytes) -> bool:
    """Whether a file begins as an exported function does; it may be cut off behind that."""
    if len(head) < 4:
        return False
    with path.open("rb") as file:

        def read(start: int, count: int) -> bytes:
            file.seek(start)
            return file.read(count)

        return _module_in(read) is not None


def place_of_module(data: bytes) -> tuple[int, int] | None:
    """Where the StableHLO module begins in a file, and how long it should be.

    None where the file is no exported function, or is damaged before its module.
    """
    return _module_in(lambda start, count: data[start : start + count])


def _module_in(read: Bytes) -> tuple[int, int] | None:
    try:
        place = _module(read)
        return place if place and read(place[0], len(SIGNATURE)) == SIGNATURE else None
    except (struct.error, ValueError):
        return None


def _module(read: Bytes) -> tuple[int, int] | None:
    (root,) = struct.unpack("<I", read(0, 4))
    (back,) = struct.unpack("<i", read(root, 4))
    table = root - back
    if table < 4:
        return None
    size, _ = struct.unpack("<HH", read(table, 4))
    if not _FEWEST_FIELDS <= (size - 4) // 2 <= _MOST_FIELDS or size <= _MODULE:
        return None
    (offset,) = struct.unpack("<H", read(table + _MODULE, 2))
    if not offset:
        return None
    field = root + offset
    (distance,) = struct.unpack("<I", read(field, 4))
    (count,) = struct.unpack("<I", read(field + distance, 4))
    return field + distance + 4, count
