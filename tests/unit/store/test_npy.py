"""Arrays in NumPy's format are read without pickle, and only if their size is the stated one."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from isomorph.store.npy import HoldsObjectsError, NpyError, map_npy, map_part, read_npy

ANY = arrays.arrays(
    st.sampled_from(["<f4", ">f8", "i1", ">i4", "?", "<c8", "<U3", "S2"]),
    arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)


def saved(array, **more):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, **more)
    return stream.getvalue()


def read(data):
    return read_npy(io.BytesIO(data), len(data), "x")


@given(ANY, st.booleans())
def test_what_is_written_is_read_in_the_order_of_this_machine(array, fortran):
    array = np.asfortranarray(array) if fortran else array
    found = read(saved(array))
    assert found.shape == array.shape
    assert found.dtype.isnative
    assert found.tobytes() == np.ascontiguousarray(array).astype(found.dtype).tobytes()


def test_a_file_is_mapped_and_what_is_written_stays_in_memory(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.arange(6.0).reshape(2, 3))
    found = map_npy(path)
    found[0, 0] = 9
    assert np.load(path)[0, 0] == 0
    assert map_npy(path)[1].tolist() == [3, 4, 5]


def test_a_part_of_a_file_is_an_array_of_its_own(tmp_path):
    data = saved(np.arange(3))
    path = tmp_path / "whole"
    path.write_bytes(b"before" + data + b"after")
    assert map_part(path, 6, 6 + len(data), "x").tolist() == [0, 1, 2]
    with pytest.raises(NpyError):
        map_part(path, 6, 6 + len(data) + 1, "x")


def test_empty_arrays_are_arrays(tmp_path):
    path = tmp_path / "e.npy"
    np.save(path, np.empty((0, 3), np.float32))
    assert map_npy(path).shape == (0, 3)


def test_pickled_objects_are_named_and_not_read():
    with pytest.raises(HoldsObjectsError):
        read(saved(np.array([{}], object), allow_pickle=True))


@pytest.mark.parametrize("array", [np.zeros(2, "M8[s]"), np.zeros(2, [("a", "f4")])])
def test_what_is_no_element_type_of_a_tensor_is_refused(array):
    with pytest.raises(NpyError, match="type"):
        read(saved(array))


@given(st.data())
def test_a_file_that_is_cut_or_longer_is_refused(data):
    whole = saved(np.arange(5, dtype=np.int16))
    length = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(NpyError):
        read(whole[:length])
    with pytest.raises(NpyError):
        read(whole + b"x")


@pytest.mark.parametrize("shape", ["(-1,)", "(4611686018427387904, 4)", "(2, -3)"])
def test_a_size_that_is_none_or_overflows_is_refused(shape):
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    data = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + bytes(8)
    with pytest.raises(NpyError):
        read(data)
