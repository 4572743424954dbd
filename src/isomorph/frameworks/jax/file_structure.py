"""What an exported JAX function looks like as bytes; read without JAX, and with suspicion.

``Exported.serialize`` writes a flatbuffer without an identifier. Its root table holds a StableHLO
module, whose bytecode has a signature of its own.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SIGNATURE = b"ML\xefR"
"""MLIR bytecode."""

_FUNCTION_NAME, _PLATFORMS, _MODULE, _CONVENTION = 6, 22, 30, 32
"""Where the table of an exported function refers to its fields."""
_FEWEST_FIELDS, _MOST_FIELDS = 17, 64
_LONGEST_NAME = 1 << 12
_MOST_PLATFORMS = 16

Bytes = Callable[[int, int], bytes]
"""So many bytes from a place in a file; fewer where it ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """The parts of an exported function that are known without JAX.

    ``module`` is where the StableHLO module begins and how long it should be.
    """

    name: str
    platforms: tuple[str, ...]
    convention: int
    module: tuple[int, int]


def looks_like_export(path: Path, head: bytes) -> bool:
    """Whether a file begins as an exported function does; it may be cut off behind that."""
    if len(head) < 4:
        return False
    with path.open("rb") as file:

        def read(start: int, count: int) -> bytes:
            file.seek(start)
            return file.read(count)

        return _module_of(read) is not None


def outline_of(data: bytes) -> Outline | None:
    """The outline of a whole file; None where it is no exported function, or is damaged."""

    def read(start: int, count: int) -> bytes:
        return data[start : start + count]

    module = _module_of(read)
    if module is None:
        return None
    try:
        names = _vector(read, _PLATFORMS)
        platforms = () if names is None else tuple(_texts(read, *names))
        name = _text(read, _field(read, _FUNCTION_NAME))
    except (struct.error, UnicodeDecodeError, ValueError):
        return None
    slot = _field(read, _CONVENTION)
    convention = 0 if slot is None else struct.unpack("<H", read(slot, 2))[0]
    return Outline(name=name, platforms=platforms, convention=convention, module=module)


def _module_of(read: Bytes) -> tuple[int, int] | None:
    try:
        place = _vector(read, _MODULE)
        if place is None or read(place[0], len(SIGNATURE)) != SIGNATURE:
            return None
    except (struct.error, ValueError):
        return None
    return place


def _field(read: Bytes, slot: int) -> int | None:
    """Where a field of the root table is stored; None where the table has none."""
    (root,) = struct.unpack("<I", read(0, 4))
    (back,) = struct.unpack("<i", read(root, 4))
    table = root - back
    if table < 4:
        raise ValueError("the root has no table of fields")
    size, _ = struct.unpack("<HH", read(table, 4))
    if not _FEWEST_FIELDS <= (size - 4) // 2 <= _MOST_FIELDS:
        raise ValueError("the root is no exported function")
    if slot >= size:
        return None
    (offset,) = struct.unpack("<H", read(table + slot, 2))
    return root + offset if offset else None


def _vector(read: Bytes, slot: int) -> tuple[int, int] | None:
    field = _field(read, slot)
    return None if field is None else _behind(read, field)


def _behind(read: Bytes, field: int) -> tuple[int, int]:
    """Where the elements begin that a field refers to, and how many they are."""
    (offset,) = struct.unpack("<I", read(field, 4))
    (count,) = struct.unpack("<I", read(field + offset, 4))
    return field + offset + 4, count


def _text(read: Bytes, field: int | None) -> str:
    if field is None:
        return ""
    start, count = _behind(read, field)
    if count > _LONGEST_NAME:
        raise ValueError("a name is too long")
    return read(start, count).decode("utf-8")


def _texts(read: Bytes, start: int, count: int) -> list[str]:
    if count > _MOST_PLATFORMS:
        raise ValueError("there are too many platforms")
    return [_text(read, start + 4 * place) for place in range(count)]
