"""A budget that a user states is a finite number of at least zero, or it is refused."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isomorph.core.budgets import is_budget, stated_budgets
from isomorph.core.errors import UsageError


@given(st.floats() | st.integers(-10, 10))
def test_a_budget_is_a_finite_number_that_is_not_below_zero(value):
    assert is_budget(value) == (math.isfinite(value) and value >= 0)


@pytest.mark.parametrize("value", [True, False, "1", b"1", None, [1.0], np.zeros(2)])
def test_nothing_else_is_one(value):
    assert not is_budget(value)
    with pytest.raises(UsageError) as caught:
        stated_budgets({"y": value})
    assert caught.value.code == "BAD_OPTION"


def test_one_number_is_for_every_output():
    assert stated_budgets(None) == {}
    assert stated_budgets(np.float32(0.5)) == {"": 0.5}
    assert stated_budgets({"y": 1, "": 2}) == {"y": 1.0, "": 2.0}


def test_a_negative_zero_is_a_zero():
    assert math.copysign(1, stated_budgets(-0.0)[""]) == 1
