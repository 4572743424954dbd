"""The searches behind the proposals: numbers, pads, gates."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isomorph.diagnose.parameter_values import _pads
from isomorph.diagnose.recurrent_weights import in_order, stacked
from isomorph.diagnose.reference_attributes import _fitted, equal
from isomorph.fixes._numbers import decimals, fitted


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


def test_pads_keep_their_total_and_the_even_split_comes_first():
    found = _pads((2, 2, 0, 0))
    assert found[0] == (1, 1, 1, 1)
    assert (0, 2, 2, 0) in found
    assert len(found) == len(set(found))


@pytest.mark.parametrize(
    ("ref_value", "now", "meant"),
    [
        ((1, 2), (0, 0, 0, 0), (1, 2, 1, 2)),
        (3, (1, 1), (3, 3)),
        (True, 0, 1),
        (1, 0.5, 1.0),
        ((2,), 1, 2),
        ("reflect", 3, None),
        ("reflect", "edge", "reflect"),
        ((1, 2), 5, None),
    ],
)
def test_a_value_takes_the_form_of_the_one_it_replaces(ref_value, now, meant):
    assert _fitted(ref_value, now) == meant


def test_storage_in_float32_is_no_difference():
    assert equal(float(np.float32(1e-5)), 1e-5)
    assert not equal(1e-5, 1.001e-5)
    assert equal((1, 2), [1, 2])
    assert not equal((1, 2), (1, 2, 3))


def test_single_matrices_are_stacked_direction_by_direction():
    hidden, width = 2, 3
    gates = {name: np.full((hidden, width), place) for place, name in enumerate("ifgo")}
    forward = np.concatenate([gates[name] for name in "ifgo"]).astype(float)
    known = [forward, forward + 10, np.arange(8.0), np.arange(8.0) + 100]
    (single,) = stacked((1, 8, 3), known[:1] + known[2:], (0, 3, 1, 2))
    assert single[0, ::hidden, 0].tolist() == [0, 3, 1, 2]
    (both,) = stacked((2, 8, 3), known, (0, 3, 1, 2))
    assert both[1, ::hidden, 0].tolist() == [10, 13, 11, 12]
    (bias,) = stacked((1, 16), known, (0, 3, 1, 2))
    assert bias[0, ::hidden].tolist() == [0, 6, 2, 4, 100, 106, 102, 104]


def test_a_transposed_matrix_is_turned():
    kernel = np.arange(24.0).reshape(3, 8)
    (whole,) = stacked((1, 8, 3), [kernel], (0, 1, 2, 3))
    assert np.array_equal(whole[0], kernel.T)


def test_blocks_that_do_not_divide_stay_as_they_are():
    value = np.arange(7.0)
    assert np.array_equal(in_order(value, (1, 0)), value)
