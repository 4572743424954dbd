"""A real parameter is read off the errors that its values leave."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isomorph.fixes._numbers import decimals, fitted, written


@pytest.mark.parametrize("truth", [1e-5, 1e-3, 0.01, 0.2, 0.9, 2.5, 0.0])
def test_a_number_is_read_off_the_errors_and_the_shortest_decimal_is_among_the_first(truth):
    tried = 0

    def error(value):
        nonlocal tried
        tried += 1
        return abs(value - truth)

    found = list(fitted(error, 0.37))
    assert truth in found
    assert tried < 150


def test_a_negative_number_is_searched_among_negative_ones():
    assert -0.5 in list(fitted(lambda value: (value + 0.5) ** 2, -0.75))


@given(st.floats(min_value=1e-6, max_value=50))
def test_only_what_comes_nearest_is_offered(truth):
    narrow = float(np.float32(truth))
    found = list(fitted(lambda value: abs(float(np.float32(value)) - narrow), 0.37))
    assert found
    assert {np.float32(value) for value in found} == {np.float32(truth)}


def test_a_fraction_is_found_in_full():
    assert next(iter(fitted(lambda value: abs(value - 1 / 6), 0.2))) == 1 / 6


def test_nothing_is_offered_where_nothing_can_be_computed():
    assert list(fitted(lambda _: float("inf"), 1.0)) == []


def test_decimals_go_from_short_to_exact_without_repeating():
    found = [0.1, 0.12, 0.123, 0.1235, 0.12346, 0.123457, 0.123456789]
    assert list(decimals(0.123456789)) == found
    assert list(decimals(0.5)) == [0.5]


@pytest.mark.parametrize("value", [-np.inf, np.inf])
def test_an_infinity_is_written_as_itself(value):
    """A mask hides with it, and no fraction stands for it."""
    assert list(written(value)) == [value]
