"""Nearest neighbors at whole ratios, which float32 may miss."""

from fractions import Fraction

import numpy as np
import pytest

from isomorph.proof.real import evaluated
from isomorph.proof.spelled_resize import repeated_along
from isomorph.proof.term import NoMeaningError
from isomorph.proof.terms import Terms


@pytest.mark.parametrize("times", [1, 2, 3, 7, 16])
def test_each_element_is_repeated(times):
    t, x = Terms(), np.arange(5.0)
    term = repeated_along(t, t.input("x", (5,), "float32"), 0, 5 * times, Fraction(times))
    np.testing.assert_array_equal(evaluated(term, {"x": x}), np.repeat(x, times))


def test_a_ratio_whose_inverse_rounds_down_has_no_meaning():
    """41 times the float32 next to 1/41 is below 1, and kernels take the neighbor before."""
    t = Terms()
    with pytest.raises(NoMeaningError, match="rounding"):
        repeated_along(t, t.input("x", (5,), "float32"), 0, 205, Fraction(41))
