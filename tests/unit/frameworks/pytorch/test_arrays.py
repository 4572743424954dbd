import ml_dtypes
import numpy as np
import pytest
import torch

from isomorph.core.digest import constant_of
from isomorph.core.errors import UsageError
from isomorph.frameworks.pytorch.arrays import dtype_name, to_array, to_tensor

DTYPES = [
    np.float64, np.float32, np.float16, np.int64, np.int32, np.int16, np.int8, np.uint8, np.bool_,
    np.complex64, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2,
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize("shape", [(2, 3), (0, 4), ()])
def test_every_type_goes_to_torch_and_back(dtype, shape):
    array = (np.arange(np.prod(shape, dtype=int)) - 1).reshape(shape).astype(dtype)
    tensor = to_tensor(array)
    assert tuple(tensor.shape) == shape
    assert dtype_name(tensor.dtype) == np.dtype(dtype).name
    back = to_array(tensor)
    assert back.dtype == array.dtype
    assert back.tobytes() == array.tobytes()


def test_memory_is_never_shared():
    array = np.ones(3, np.float32)
    tensor = to_tensor(array)
    tensor.mul_(2)
    assert array.tolist() == [1, 1, 1]
    shown = to_array(tensor)
    shown[:] = 0
    assert tensor.tolist() == [2, 2, 2]


def test_big_endian_and_strided_arrays_are_read():
    array = np.arange(6, dtype=">f4").reshape(2, 3).T
    assert np.array_equal(to_array(to_tensor(array)), array)


def test_words_are_refused():
    with pytest.raises(UsageError) as refused:
        to_tensor(np.array(["a"]))
    assert refused.value.code == "UNSUPPORTED_DTYPE"


def test_sequences_and_numbers_have_a_meaning():
    assert [each.tolist() for each in to_array([torch.ones(1), 3])] == [[1.0], 3]
    assert to_array(None) is None


def test_a_value_digest_survives_transposition_and_the_plain_one_does_not():
    array = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    one, two = constant_of("a", array), constant_of("b", np.ascontiguousarray(array.T))
    assert one.value_digest == two.value_digest
    assert one.digest != two.digest
    changed = array.copy()
    changed[0, 0] = np.nextafter(changed[0, 0], np.float32(9))
    assert constant_of("a", changed).value_digest != one.value_digest
    assert constant_of("a", array.astype(np.float64)).value_digest != one.value_digest


@pytest.mark.parametrize("dtype", [*DTYPES, ml_dtypes.int4], ids=lambda d: np.dtype(d).name)
def test_small_constants_keep_their_values(dtype):
    constant = constant_of("c", np.array([0, 1, 1], dtype))
    assert constant.dtype == np.dtype(dtype).name
    assert len(constant.values) == 3
    assert constant_of("c", np.zeros(17, dtype)).values is None


def test_constants_of_words():
    constant = constant_of("w", np.array([["b"], ["a"]], object))
    assert (constant.dtype, constant.shape, constant.values) == ("string", (2, 1), ("b", "a"))
    assert constant.value_digest == constant_of("w", np.array(["a", "b"])).value_digest
