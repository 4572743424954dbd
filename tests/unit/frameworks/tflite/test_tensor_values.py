"""Floats for quantized tensors, and what is not converted in silence."""

import numpy as np
import pytest

from isomorph.core.errors import UsageError
from isomorph.frameworks.tflite.program import TfliteQuantization, TfliteTensor
from isomorph.frameworks.tflite.tensor_values import fitted, quantized
from isomorph.store.dtypes import same_bits


def tensor(dtype, quantization=None):
    return TfliteTensor(
        index=0, name="x", own_name="x", dtype=dtype, shape=(4,), signature=(4,), buffer=0,
        constant=False, variable=False, quantization=quantization,
    )  # fmt: skip


def test_ties_go_away_from_zero_and_the_range_is_clipped():
    given = TfliteQuantization(scales=(0.5,), zero_points=(10,))
    floats = np.array([0.25, -0.25, 0.75, 1000.0, -1000.0, 0.0], np.float32)
    assert quantized(floats, given, "int8").tolist() == [11, 9, 12, 127, -128, 10]
    assert quantized(floats, given, "uint8").tolist() == [11, 9, 12, 255, 0, 10]


def test_each_channel_has_its_own_scale():
    given = TfliteQuantization(scales=(1.0, 0.5), zero_points=(0, 1), axis=1)
    assert quantized(np.ones((3, 2)), given, "int16").tolist() == [[1, 3]] * 3


def test_the_own_type_is_taken_as_it_is():
    given = TfliteQuantization(scales=(0.5,), zero_points=(0,))
    array = np.array([1, 2, 3, 4], np.int8)
    assert fitted(tensor("int8", given), "x", array) is array
    assert fitted(tensor("int8", given), "x", [1.0, 0.5, 0.0, -1.0]).tolist() == [2, 1, 0, -2]


@pytest.mark.parametrize(("declared", "fed"), [("float32", "float64"), ("int32", "int64")])
def test_another_type_is_refused(declared, fed):
    with pytest.raises(UsageError) as caught:
        fitted(tensor(declared), "x", np.zeros(4, fed))
    assert caught.value.code == "FEED_DTYPE"
    assert f"astype('{declared}')" in caught.value.fix


def test_bits_distinguish_signed_zeros_and_not_nans():
    zero = np.zeros(2, np.float32)
    assert not same_bits(zero, -zero)
    assert same_bits(np.full(2, np.nan), np.full(2, np.nan))
    assert not same_bits(zero, None)
