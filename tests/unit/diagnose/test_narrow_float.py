"""Numbers as a narrow float shows them, rounded to the nearest or cut off."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isomorph.diagnose.narrow_float import FLOATS, cut_off, narrowed

TYPES = {"bfloat16": ml_dtypes.bfloat16, "float16": np.float16}
DIGITS = {"bfloat16": 8, "tf32": 11, "float16": 11}
USUAL = st.floats(2**-10, 2**10, width=32).flatmap(lambda v: st.sampled_from([v, -v]))


@pytest.mark.parametrize("kind", FLOATS)
@given(value=USUAL)
def test_rounding_is_to_one_of_the_neighbors_and_cutting_to_the_one_toward_zero(kind, value):
    array = np.array([value], np.float32)
    step = 2.0 ** (np.frexp(value)[1] - DIGITS[kind])
    (rounded,), (cut,) = narrowed(array, kind), cut_off(array, kind)
    assert abs(rounded - value) <= step / 2
    assert 0 <= (value - cut) * np.sign(value) < step
    assert rounded / step == np.rint(rounded / step)
    assert cut / step == np.rint(cut / step)
    assert narrowed(np.array([rounded]), kind)[0] == rounded
    assert cut_off(np.array([cut]), kind)[0] == cut


@pytest.mark.parametrize("kind", TYPES)
@given(value=st.floats(width=32, allow_nan=False))
def test_rounding_is_that_of_the_type(kind, value):
    array = np.array([value], np.float32)
    with np.errstate(over="ignore"):
        expected = array.astype(TYPES[kind]).astype(np.float32)
    assert np.array_equal(narrowed(array, kind), expected)


def test_halves_go_to_the_even_neighbor():
    assert narrowed(np.array([1 + 2.0**-11, 1 + 3 * 2.0**-11]), "tf32").tolist() == [
        1.0, 1 + 2.0**-9,
    ]  # fmt: skip


def test_beyond_the_range_of_float16_is_infinity_and_tf32_holds_it():
    large = np.array([1e20], np.float32)
    assert np.isinf(narrowed(large, "float16")[0])
    assert narrowed(large, "tf32")[0] == pytest.approx(1e20, rel=2**-11)
    assert narrowed(large, "bfloat16")[0] == pytest.approx(1e20, rel=2**-8)
