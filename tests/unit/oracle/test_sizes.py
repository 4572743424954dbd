"""The size of a tensor, and of the difference of two."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from isomorph.oracle.sizes import rms, rms_and_peak

FLOATS = arrays(np.float64, array_shapes(max_side=4), elements=st.floats(-1e100, 1e100))


@given(FLOATS)
def test_the_difference_from_zero_is_the_size(array):
    size, peak = rms_and_peak(array, np.zeros_like(array))
    assert size == rms(array)
    assert peak == np.max(np.abs(array))
    # Squares below the smallest numbers of float64 are lost or imprecise.
    assert peak / np.sqrt(array.size) - 1e-150 <= size * (1 + 1e-12)
    assert size <= peak * (1 + 1e-12) + 1e-150


def test_half_types_do_not_overflow():
    assert rms(np.full(4, 60000.0, np.float16)) == pytest.approx(60000, rel=1e-3)


def test_nothing_has_no_size():
    empty = np.zeros((0, 3))
    assert rms(empty) == 0.0
    assert rms_and_peak(empty, empty) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ([np.nan, np.inf, 1.0], [np.nan, np.inf, 1.0], 0.0),
        ([np.nan, 1.0], [0.0, 1.0], np.inf),
        ([np.inf, 1.0], [-np.inf, 1.0], np.inf),
        ([1.0, 2.0], [1.0], np.inf),
    ],
)
def test_what_is_not_finite_is_equal_or_infinitely_far(left, right, expected):
    assert rms_and_peak(np.array(left), np.array(right)) == (expected, expected)
