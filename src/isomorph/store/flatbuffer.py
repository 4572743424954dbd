"""Reads flatbuffers that may be damaged: every offset is checked before it is followed."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from isomorph.core.trace import Array

_SPENT_PER_BYTE = 8
"""Elements that are read for each byte of a buffer. A writer stores few of them twice, so more
than this means that vectors lie on top of one another to exhaust the memory."""


class DamagedFlatbufferError(ValueError):
    """An offset or a size that leads out of the buffer."""


class Buffer:
    """The bytes of one flatbuffer, and how many elements may still be read from it."""

    def __init__(self, data: memoryview) -> None:
        self.data = data
        self._left = 1024 + _SPENT_PER_BYTE * len(data)

    def root(self) -> Table:
        """The root table."""
        return Table(self, self.number("I", 0))

    def number(self, form: str, place: int) -> int:
        """One integer at a place."""
        return int(self._unpacked(form, place))

    def real(self, form: str, place: int) -> float:
        """One float at a place."""
        return float(self._unpacked(form, place))

    def vector(self, place: int, itemsize: int) -> tuple[int, int]:
        """The place of the first element of the vector at ``place``, and their number."""
        start = place + self.number("I", place)
        count = self.number("I", start)
        if start + 4 + count * itemsize > len(self.data):
            raise DamagedFlatbufferError(f"a vector of {count} elements does not fit")
        self._left -= count
        if self._left < 0:
            raise DamagedFlatbufferError("its vectors hold more elements than the file")
        return start + 4, count

    def _unpacked(self, form: str, place: int) -> Any:  # noqa: ANN401
        # A negative offset would be counted from the end.
        if place < 0 or place + struct.calcsize(form) > len(self.data):
            raise DamagedFlatbufferError(f"offset {place} lies outside of {len(self.data)} bytes")
        return struct.unpack_from("<" + form, self.data, place)[0]


class Table:
    """One table; a field is known by its number in the schema."""

    __slots__ = ("_buffer", "_layout", "_size", "place")

    def __init__(self, buffer: Buffer, place: int) -> None:
        self._buffer, self.place = buffer, place
        self._layout = place - buffer.number("i", place)
        self._size = buffer.number("H", self._layout)

    def where(self, field: int) -> int | None:
        """The place of a field; None where it is left out, which means its default."""
        entry = 4 + 2 * field
        if entry + 2 > self._size:
            return None
        offset = self._buffer.number("H", self._layout + entry)
        return self.place + offset if offset else None

    def place_of(self, field: int) -> int:
        """The place of a field that must be there."""
        place = self.where(field)
        if place is None:
            raise DamagedFlatbufferError(f"field {field} of a table is left out")
        return place

    def integer(self, field: int, form: str = "i", default: int = 0) -> int:
        """A number by its struct letter."""
        place = self.where(field)
        return default if place is None else self._buffer.number(form, place)

    def real(self, field: int, form: str = "d", default: float = 0.0) -> float:
        """A float by its struct letter."""
        place = self.where(field)
        return default if place is None else self._buffer.real(form, place)

    def text(self, field: int) -> str:
        """A string; empty where it is left out."""
        return bytes(self.octets(field)).decode("utf-8", "replace")

    def octets(self, field: int) -> memoryview:
        """A vector of bytes, where they lie."""
        place = self.where(field)
        if place is None:
            return memoryview(b"")
        start, count = self._buffer.vector(place, 1)
        return self._buffer.data[start : start + count]

    def start_of(self, field: int) -> int:
        """The place of the first element of a vector."""
        place = self.where(field)
        return 0 if place is None else self._buffer.vector(place, 1)[0]

    def numbers(self, field: int, dtype: str) -> Array:
        """A vector of numbers by their NumPy type."""
        place = self.where(field)
        if place is None:
            return np.zeros(0, dtype)
        kind = np.dtype(dtype).newbyteorder("<")
        start, count = self._buffer.vector(place, kind.itemsize)
        return np.frombuffer(self._buffer.data, kind, count, start)

    def table(self, field: int) -> Table | None:
        """A table; None where it is left out."""
        place = self.where(field)
        if place is None:
            return None
        return Table(self._buffer, place + self._buffer.number("I", place))

    def tables(self, field: int) -> list[Table]:
        """A vector of tables."""
        place = self.where(field)
        if place is None:
            return []
        start, count = self._buffer.vector(place, 4)
        places = range(start, start + 4 * count, 4)
        return [Table(self._buffer, each + self._buffer.number("I", each)) for each in places]

    def union(self, field: int) -> tuple[int, Table | None]:
        """The kind of a union (0 for none), whose number stands one field before, and its table."""
        return self.integer(field - 1, "B"), self.table(field)
