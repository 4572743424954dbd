"""Where things lie in a .pte file: its flatbuffer, its segments, and what is stored in them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TypeVar

from isomorph.store.flatbuffer import Buffer, DamagedFlatbufferError, Table

IDENTIFIER = b"ET12"
_EXTENDED = b"eh00"
_HEADER = struct.Struct("<4sIQQ")
_HEADER_AT = 8

T = TypeVar("T")
Region = tuple[int, int]
"""The first byte in the file and the byte behind the last."""


class FileLayout:
    """The root table of a file, and the regions of its constants, delegates and named data.

    ``end`` is where its flatbuffer ends, ``base`` where its segments begin.
    """

    def __init__(self, data: memoryview) -> None:
        self.data = data
        self.base = len(data)
        self.end = len(data)
        if data[_HEADER_AT : _HEADER_AT + 4] == _EXTENDED and len(data) >= 32:
            _, _, size, base = _HEADER.unpack_from(data, _HEADER_AT)
            if size > len(data) or base > len(data):
                raise DamagedFlatbufferError(
                    f"its header states {size} bytes and segments at {base}, "
                    f"and the file has {len(data)}"
                )
            self.end, self.base = size, base or len(data)
        self.root: Table = Buffer(data[: self.end]).root()
        self.segments = [self._segment(each) for each in self.root.tables(4)]
        self._inline = self.root.tables(2)
        self._constants = self._offsets(self.root.table(5))
        self._mutable = [self._offsets(each) for each in self.root.tables(6)]
        self._delegates = self.root.tables(3)
        self._named = {each.text(0): each.integer(1, "I") for each in self.root.tables(7)}

    def constant(self, index: int, size: int) -> Region:
        """The bytes of a constant."""
        if self._inline:
            return _within(self._stored(_item(self._inline, index)), 0, size)
        return self._at(self._constants, index, size)

    def state(self, group: int, index: int, size: int) -> Region:
        """The bytes that a state begins with."""
        return self._at(_item(self._mutable, group), index, size)

    def delegate(self, place: Table) -> Region:
        """What a delegate was lowered to: in the flatbuffer, or in a segment."""
        location, index = place.integer(0, "b"), place.integer(1, "I")
        if location == 0:
            return self._stored(_item(self._delegates, index))
        return _item(self.segments, index)

    def named(self, key: str) -> Region:
        """A segment by the name of its data."""
        if key not in self._named:
            raise DamagedFlatbufferError(f"there is no data of the name {key!r}")
        return _item(self.segments, self._named[key])

    def graph(self, start: int, end: int) -> Table:
        """The root table of a flatbuffer inside the file, such as the graph of a delegate."""
        return Buffer(self.data[start:end]).root()

    def _segment(self, table: Table) -> Region:
        return _within((self.base, len(self.data)), table.integer(0, "Q"), table.integer(1, "Q"))

    def _stored(self, table: Table) -> Region:
        place = table.start_of(0)
        return place, place + len(table.octets(0))

    def _offsets(self, table: Table | None) -> tuple[int, list[int]]:
        if table is None:
            return 0, []
        return table.integer(0, "I"), table.numbers(1, "u8").tolist()

    def _at(self, group: tuple[int, list[int]], index: int, size: int) -> Region:
        segment, offsets = group
        return _within(_item(self.segments, segment), _item(offsets, index), size)


def _within(region: Region, offset: int, size: int) -> Region:
    start = region[0] + offset
    if start + size > region[1]:
        raise DamagedFlatbufferError(
            f"{size} bytes at offset {offset} lie behind the end of {region[1] - region[0]}"
        )
    return start, start + size


def _item(items: Sequence[T], index: int) -> T:
    if not 0 <= index < len(items):
        raise DamagedFlatbufferError(f"it names entry {index} of {len(items)}")
    return items[index]
