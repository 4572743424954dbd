"""Numbers as a narrow type stores them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from isomorph.conversion.rounding_shares import rounded


@given(st.floats(-60000.0, 60000.0))
def test_rounding_is_that_of_the_type_and_happens_once(x):
    once = rounded(np.array([x]), "float16")
    assert once[0] == np.float64(np.float16(x))
    assert np.array_equal(rounded(once, "float16"), once)


def test_numbers_beyond_the_type_become_its_largest_and_infinities_stay():
    found = rounded(np.array([1e6, -1e6, np.inf]), "float16")
    assert found.tolist() == [65504.0, -65504.0, np.inf]
