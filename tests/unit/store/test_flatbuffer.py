"""Flatbuffers that may be damaged: what leads out of them is refused."""

import numpy as np
import pytest

from isomorph.store.flatbuffer import Buffer, DamagedFlatbufferError
from isomorph.store.flatbuffer_writer import append, point


def written(value):
    data = bytearray(4)
    point(data, 0, append(data, value))
    return data


def test_what_is_left_out_has_its_default():
    root = Buffer(memoryview(written({1: ("i", 5)}))).root()
    assert (root.integer(0, default=7), root.integer(1), root.integer(9)) == (7, 5, 0)
    assert (root.text(0), root.table(0), root.tables(0)) == ("", None, [])
    with pytest.raises(DamagedFlatbufferError):
        root.place_of(0)


def everything_in(data):
    root = Buffer(data).root()
    return root.numbers(0, "i4"), [each.text(0) for each in root.tables(1)]


@pytest.mark.parametrize("size", range(4, 60, 4))
def test_a_file_that_is_cut_off_is_damaged(size):
    data = written({0: np.arange(8, dtype=np.int32), 1: [{0: "text"}]})
    assert len(data) > 60
    with pytest.raises(DamagedFlatbufferError):
        everything_in(memoryview(data)[:size])


def test_vectors_that_lie_on_one_another_do_not_exhaust_the_memory():
    data = written({0: np.arange(1000, dtype=np.uint8)})
    buffer = Buffer(memoryview(data))
    for _ in range(9):
        buffer.root().numbers(0, "u1")
    with pytest.raises(DamagedFlatbufferError):
        buffer.root().numbers(0, "u1")
