"""What the writer writes, the reader reads."""

import numpy as np
import pytest

from isomorph.store.flatbuffer import Buffer, Table
from isomorph.store.flatbuffer_writer import ALIGNMENT, append, pad, point


def written(value):
    data = bytearray(4)
    point(data, 0, append(data, value))
    return Buffer(memoryview(bytes(data))).root()


def test_scalars_of_every_size_and_their_defaults():
    table = written({0: ("B", 7), 2: ("q", -5), 3: ("f", 0.5), 5: ("?", True)})
    assert (table.integer(0, "B"), table.integer(2, "q"), table.real(3, "f")) == (7, -5, 0.5)
    assert table.integer(5, "B") == 1
    assert table.where(1) is None
    assert table.where(6) is None


def test_children_lie_behind_their_table():
    table = written({0: {1: ("i", 3)}, 1: [{0: "first"}, {0: "second"}], 2: b"bytes", 3: None})
    inner = table.table(0)
    assert isinstance(inner, Table)
    assert inner.integer(1) == 3
    assert [each.text(0) for each in table.tables(1)] == ["first", "second"]
    assert bytes(table.octets(2)) == b"bytes"
    assert table.where(3) is None


@pytest.mark.parametrize("dtype", ["u1", "i4", "u4", "i8", "f4", "f8"])
def test_numbers(dtype):
    values = np.arange(5).astype(dtype)
    table = written({0: ("B", 1), 1: values})
    assert np.array_equal(table.numbers(1, dtype), values)
    assert table.start_of(1) % np.dtype(dtype).itemsize == 0


def test_bytes_and_what_follows_them_are_aligned():
    table = written({0: b"x" * 5, 1: b"y" * 7})
    assert table.start_of(0) % ALIGNMENT == table.start_of(1) % ALIGNMENT == 0
    data = bytearray(5)
    pad(data, 16, 4)
    assert len(data) == 12
