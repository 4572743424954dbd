"""Recognizes a TFLite flatbuffer by its first table; imports nothing heavy."""

from __future__ import annotations

import struct

IDENTIFIER = b"TFL3"
_VERSION = 3
_FIELDS = 10


def looks_like_model(head: bytes) -> bool:
    """By the file identifier, or, where a writer left it out, by the shape of the root table."""
    return head[4:8] == IDENTIFIER or _has_root(head)


def _has_root(head: bytes) -> bool:
    try:
        (root,) = struct.unpack_from("<I", head, 0)
        (back,) = struct.unpack_from("<i", head, root)
        table = root - back
        if table < 4 or table % 2:
            return False
        size, extent = struct.unpack_from("<HH", head, table)
        if size % 2 or not 4 + 2 * 5 <= size <= 4 + 2 * _FIELDS or extent < 4:
            return False
        fields = struct.unpack_from(f"<{(size - 4) // 2}H", head, table + 4)
        if not all(fields[place] for place in (0, 1, 2, 4)) or max(fields) >= extent:
            return False
        (version,) = struct.unpack_from("<I", head, root + fields[0])
    except struct.error:
        return False
    return bool(version == _VERSION)
