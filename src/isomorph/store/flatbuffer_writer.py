"""Writes tables and vectors behind those that a flatbuffer has.

Offsets lead forward only, so a table is written before what it points to. A dictionary is a table
(its fields by their numbers in the schema), a list a vector of tables, an array a vector of
numbers, bytes a vector of bytes, text a string, and a pair of a struct letter and a number a
scalar.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

ALIGNMENT = 16
"""Where bytes begin: weights and the graphs of delegates among them."""


def append(data: bytearray, value: Any) -> int:  # noqa: ANN401
    """Write a table, a vector or a string at the end; its place."""
    if isinstance(value, Mapping):
        return _table(data, value)
    if isinstance(value, str):
        return _vector(data, value.encode() + b"\0", 1, len(value.encode()))
    if isinstance(value, list):
        place = _vector(data, bytes(4 * len(value)), 4, len(value))
        for number, each in enumerate(value):
            point(data, place + 4 + 4 * number, append(data, each))
        return place
    if isinstance(value, np.ndarray):
        little = value.astype(value.dtype.newbyteorder("<"))
        return _vector(data, little.tobytes(), value.dtype.itemsize, value.size)
    return _vector(data, value, ALIGNMENT, len(value))


def point(data: bytearray, place: int, target: int) -> None:
    """Let the offset at ``place`` lead to ``target``."""
    struct.pack_into("<I", data, place, target - place)


def pad(data: bytearray, alignment: int, before: int = 0) -> None:
    """Zeros, so that what begins ``before`` bytes behind the end is aligned."""
    data += bytes(-(len(data) + before) % alignment)


def _vector(data: bytearray, content: Any, alignment: int, count: int) -> int:  # noqa: ANN401
    pad(data, max(alignment, 4), 4)
    place = len(data)
    data += struct.pack("<I", count)
    data += content
    return place


def _table(data: bytearray, fields: Mapping[int, Any]) -> int:
    held = {number: value for number, value in fields.items() if value is not None}
    count = max(held, default=-1) + 1
    pad(data, 8)
    layout = len(data)
    data += bytes(4 + 2 * count)
    pad(data, 8)
    table = len(data)
    data += struct.pack("<i", table - layout)
    children = {}
    for number, value in held.items():
        form, scalar = value if isinstance(value, tuple) else ("I", 0)
        pad(data, struct.calcsize(form))
        struct.pack_into("<H", data, layout + 4 + 2 * number, len(data) - table)
        if not isinstance(value, tuple):
            children[len(data)] = value
        data += struct.pack("<" + form, scalar)
    struct.pack_into("<HH", data, layout, 4 + 2 * count, len(data) - table)
    for place, value in children.items():
        point(data, place, append(data, value))
    return table
