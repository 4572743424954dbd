"""Numbers that are kept in a narrow type: which fit it, and how far the others move."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from isomorph.oracle.dtypes import numpy_dtype
from isomorph.oracle.narrow_storage import _fits, disturbed_by_storage
from isomorph.oracle.noise import unit_roundoff

TYPES = ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
NUMBERS = (
    st.floats(allow_nan=True, allow_infinity=True)
    | st.floats(-1e-6, 1e-6)
    | st.floats(width=16, allow_nan=False)
)


@pytest.mark.parametrize("dtype", TYPES)
@given(values=arrays(np.float64, 24, elements=NUMBERS))
def test_what_fits_is_what_the_type_holds(dtype, values):
    with np.errstate(all="ignore"):
        expected = (values.astype(numpy_dtype(dtype)) == values) | ~np.isfinite(values)
        fits = _fits(values, np.abs(values), dtype)
    assert np.array_equal(fits, expected)


@pytest.mark.parametrize("dtype", TYPES)
@given(values=arrays(np.float64, 24, elements=st.floats(-400, 400)), seed=st.integers(0, 99))
def test_the_others_move_by_up_to_one_rounding(dtype, values, seed):
    moved = disturbed_by_storage(values, dtype, np.random.default_rng(seed))
    with np.errstate(all="ignore"):
        stored = values.astype(numpy_dtype(dtype)).astype(np.float64)
    same = stored == values
    assert np.array_equal(moved[same], values[same])
    smallest = float(ml_dtypes.finfo(numpy_dtype(dtype)).smallest_normal)
    bound = unit_roundoff(dtype) * np.maximum(np.abs(values), smallest)
    assert np.all(np.abs(moved - values) <= bound * (1.0 + 1e-6))
    assert np.all(np.sign(moved) * np.sign(values) >= 0)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_they_are_spread_evenly_over_the_rounding(dtype):
    values = np.full(200_000, 1.0 + unit_roundoff(dtype) / 3)
    errors = (
        disturbed_by_storage(values, dtype, np.random.default_rng(1)) - values
    ) / unit_roundoff(dtype)
    # The unit of a number a little above 1 is that of 1; the number itself is a hair larger.
    assert abs(errors.mean()) < 0.01
    assert abs(errors.std() - np.sqrt(1 / 3)) < 0.01
    assert 0.99 < np.abs(errors).max() < 1.01


@given(values=arrays(np.float64, 24, elements=NUMBERS))
def test_tf32_holds_float32_numbers_of_eleven_digits(values):
    normal = (np.abs(values) >= 2.0**-126) & np.isfinite(values)
    digits = np.frexp(np.where(normal, values, 1.0))[0] * 2.0**11
    with np.errstate(over="ignore"):
        fits = _fits(values, np.abs(values), "tf32")
    assert np.array_equal(fits[normal], (digits == np.rint(digits))[normal])
    assert np.all(fits[~np.isfinite(values)])


def test_tf32_cuts_its_numbers_off():
    values = np.full(10_000, 1.0 + 2.0**-12)
    moved = disturbed_by_storage(values, "tf32", np.random.default_rng(0))
    assert 0.99 * 2.0**-10 < np.abs(moved - values).max() < 1.01 * 2.0**-10


def test_wider_noise_moves_farther():
    values = np.full(1000, 0.1)
    random = np.random.default_rng
    plain, wide = (
        disturbed_by_storage(values, "float16", random(0), scale) - values for scale in (1.0, 8.0)
    )
    assert np.allclose(wide, 8.0 * plain, rtol=1e-6, atol=1e-12)


def test_the_type_of_the_array_stays():
    assert (
        disturbed_by_storage(np.float32([0.1, 0.5]), "float16", np.random.default_rng(0)).dtype
        == np.float32
    )
