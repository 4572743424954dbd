"""Bounds of elements, beside which stands whether one may be NaN."""

import numpy as np

from isomorph.bounds.interval import Interval, clean, hull, within


def test_numbers_beyond_a_type_are_infinities_of_their_sign():
    found = Interval(np.array([-9.0, -1.0, 6.0]), np.array([-6.0, 9.0, 8.0])).beyond_is_infinite(
        5.0
    )
    np.testing.assert_array_equal(found.lower, [-np.inf, -1.0, 5.0])
    np.testing.assert_array_equal(found.upper, [-5.0, np.inf, np.inf])


def test_bounds_that_are_nan_become_infinite_and_are_noted():
    found = clean(np.array([np.nan, 0.0]), np.array([1.0, 2.0]))
    assert found.may_be_nan
    np.testing.assert_array_equal(found.lower, [-np.inf, 0.0])
    assert hull([np.array([np.nan]), np.array([1.0])]).may_be_nan
    assert not clean(np.array([-np.inf]), np.array([np.inf])).may_be_nan


def test_an_infinity_is_not_rounded():
    hidden = Interval(np.array([-np.inf]), np.array([-np.inf]))
    for moved in (hidden.widened(np.inf), hidden.moved_to(np.array([np.nan]), np.array([np.nan]))):
        assert (moved.lower[0], moved.upper[0], moved.may_be_nan) == (-np.inf, -np.inf, False)
    assert within((1,), 0.0, 1.0).widened(1.0).upper[0] == 2.0
