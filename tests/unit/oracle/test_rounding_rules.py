"""The noise of a narrow storage type does what rounding to it may do, and no more."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isomorph.oracle.dtypes import numpy_dtype
from isomorph.oracle.noise import Rounding
from isomorph.oracle.rounding_rules import stored_noise

REALS = st.floats(min_value=-60000, max_value=60000, allow_nan=False)


def stored(values, dtype, seed):
    noise = Rounding(seed)
    noise.enter("n", 0.0)
    return stored_noise(np.array(values, np.float64), dtype, noise)


@given(
    st.lists(REALS | st.floats(-1e-6, 1e-6), min_size=1, max_size=30),
    st.integers(0, 1000),
    st.sampled_from(["float16", "bfloat16"]),
)
def test_rounding_never_passes_zero(values, seed, dtype):
    moved = stored(values, dtype, seed)
    assert np.all(np.sign(moved) * np.sign(values) >= 0)


@given(st.lists(REALS, min_size=1, max_size=30), st.integers(0, 1000))
def test_noise_stays_within_one_rounding(values, seed):
    moved = stored(values, "float16", seed)
    step = np.maximum(np.abs(values) * 2.0**-11, 2.0**-25)
    assert np.all(np.abs(moved - values) <= step)
    fits = np.array(values).astype(numpy_dtype("float16")) == values
    np.testing.assert_array_equal(moved[fits], np.array(values)[fits])


@pytest.mark.parametrize("function", [np.sqrt, np.log1p])
def test_what_underflows_leaves_roots_and_logarithms_their_numbers(function):
    drawn = [function(stored([1e-10, 3e-9, 1.0], "float16", seed)) for seed in range(20)]
    assert np.all(np.isfinite(drawn))
    assert np.ptp([draw[0] for draw in drawn]) > 0


def test_what_is_no_number_stays_none():
    np.testing.assert_array_equal(
        stored([np.nan, np.inf, -np.inf, 0.0], "float16", 0), [np.nan, np.inf, -np.inf, 0.0]
    )
