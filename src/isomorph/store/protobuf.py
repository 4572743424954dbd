"""Protobuf's wire format: fields by number, read without the message types."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field: its number, its wire type, and where it and its value lie."""

    at: int
    number: int
    wire: int
    start: int
    end: int
    value: int = 0


class BrokenWireError(Exception):
    """The bytes from ``offset`` on are not protobuf."""

    def __init__(self, offset: int) -> None:
        self.offset = offset
        super().__init__(f"not protobuf from byte {offset} on")


def fields(data: bytes | memoryview, start: int, end: int) -> Iterator[Field]:
    """The fields between two offsets; the last may claim to end beyond ``end``."""
    at = start
    while at < end:
        key, value_at = _varint(data, at, end)
        number, wire = key >> 3, key & 7
        if number == 0:
            raise BrokenWireError(at)
        if wire == VARINT:
            value, stop = _varint(data, value_at, end)
            yield Field(at=at, number=number, wire=wire, start=value_at, end=stop, value=value)
        elif wire == BYTES:
            size, value_at = _varint(data, value_at, end)
            stop = value_at + size
            yield Field(at=at, number=number, wire=wire, start=value_at, end=stop)
        elif wire in (FIXED64, FIXED32):
            stop = value_at + (8 if wire == FIXED64 else 4)
            yield Field(at=at, number=number, wire=wire, start=value_at, end=stop)
        else:
            raise BrokenWireError(at)
        at = stop


def _varint(data: bytes | memoryview, at: int, end: int) -> tuple[int, int]:
    value = shift = 0
    start = at
    while at < end and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise BrokenWireError(start)
