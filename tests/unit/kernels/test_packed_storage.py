"""Numbers of narrow types as bytes and back."""

import numpy as np
import pytest

from isomorph.kernels.packed_storage import PACKED, decoded, encoded, stored_bytes
from isomorph.oracle.dtypes import numpy_dtype


@pytest.mark.parametrize("dtype", [*PACKED, "bool", "float16", "bfloat16", "int32"])
def test_what_is_written_is_read_back(dtype):
    bits, shape = PACKED.get(dtype, 1), (3, 5)
    numbers = np.random.default_rng(0).integers(0, 2**bits, shape)
    numbers = numbers - 8 * (dtype == "int4")
    held = np.uint8 if dtype.startswith("uint") else numpy_dtype(dtype)
    array = numbers.astype(np.float32 if dtype == "float4_e2m1fn" else np.int32).astype(held)
    raw = encoded(array, dtype)
    assert len(raw) == stored_bytes(dtype, shape)
    found = decoded(np.frombuffer(raw, np.uint8), dtype, shape)
    assert found.dtype == held
    assert np.array_equal(found.astype(np.float64), array.astype(np.float64))


def test_the_first_number_has_the_lowest_bits():
    assert encoded(np.array([1, 2, 3], np.uint8), "uint4") == bytes([0x21, 0x03])
    assert encoded(np.array([-1, 1], np.int8), "int4") == bytes([0x1F])
