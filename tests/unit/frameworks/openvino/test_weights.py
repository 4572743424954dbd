"""Constants are read as their types state, four bits at a time where two share a byte."""

import numpy as np
import pytest

from isomorph.core.errors import UnreadableModelError
from isomorph.frameworks.openvino.program import Stored
from isomorph.frameworks.openvino.weights import values_of
from isomorph.kernels.packed_storage import encoded, stored_bytes
from isomorph.oracle.dtypes import numpy_dtype


def stored(dtype, *shape, size=0):
    return Stored(dtype=dtype, shape=shape, offset=0, size=size)


@pytest.mark.parametrize("dtype", ["int4", "uint4", "float4_e2m1fn", "float8_e5m2", "bfloat16",
                                   "float16", "int8", "bool", "int64"])  # fmt: skip
@pytest.mark.parametrize("count", [6, 7])
def test_what_is_packed_is_read_again(dtype, count):
    values = (np.arange(count) % 2 if dtype == "bool" else np.arange(count)).astype(np.float32)
    if dtype == "int4":
        values = values - 3
    array = values.astype(numpy_dtype(dtype))
    raw = encoded(array, dtype)
    assert len(raw) == stored_bytes(dtype, (count,))
    again = values_of(np.frombuffer(raw, np.uint8), stored(dtype, count))
    assert again.dtype == array.dtype
    assert np.array_equal(again.astype(np.float32), array.astype(np.float32))


def test_the_first_of_two_is_in_the_low_bits():
    raw = np.array([0x2F], np.uint8)
    assert values_of(raw, stored("int4", 2)).astype(int).tolist() == [-1, 2]
    assert values_of(raw, stored("uint4", 2)).astype(int).tolist() == [15, 2]


def test_text():
    words = ["a", "bc", "", "ü"]
    data = [word.encode() for word in words]
    ends = np.cumsum([0, *(len(each) for each in data)])
    raw = np.array([len(words), *ends], "<i4").tobytes() + b"".join(data)
    found = values_of(np.frombuffer(raw, np.uint8), stored("string", 2, 2))
    assert found.reshape(-1).tolist() == words
    with pytest.raises(UnreadableModelError):
        values_of(np.frombuffer(raw[:9], np.uint8), stored("string", 2, 2))


def test_a_tensor_without_elements():
    assert values_of(np.zeros(1, np.uint8), stored("float32", 0, 3)).shape == (0, 3)
