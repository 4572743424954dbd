"""Which numbers a narrow weight was rounded from."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from isomorph.match.rounded_weights import narrowed, rounded_once, same_in_float32

NUMBERS = arrays(
    np.float64,
    st.integers(2, 12),
    elements=st.floats(-60000, 60000, width=32, allow_subnormal=False),
)


@given(NUMBERS, st.sampled_from(["float16", "bfloat16"]))
def test_the_nearest_numbers_are_one_rounding_away(numbers, dtype):
    actual = narrowed(np.float64(np.float32(numbers)), dtype)
    repeated = np.all(actual == actual[0]) and actual[0] != 0
    assert rounded_once(numbers, actual, dtype) is not bool(repeated)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_the_next_numbers_are_not(dtype):
    numbers = np.linspace(0.3, 0.9, 7)
    actual = narrowed(numbers, dtype)
    unit = 2.0**-11 if dtype == "float16" else 2.0**-8
    assert not rounded_once(numbers, actual + unit * np.eye(7)[3], dtype)


def test_factors_of_one_tell_nothing_and_zeros_do():
    assert not rounded_once(np.full(4, 0.99999), np.ones(4), "float16")
    assert rounded_once(np.zeros(4), np.zeros(4), "float16")


def test_roundings_of_float32_make_no_other_numbers():
    numbers = np.linspace(0.3, 0.9, 7)
    assert same_in_float32(numbers, np.float64(np.float32(numbers)))
    assert not same_in_float32(numbers, numbers * 1.00001)
