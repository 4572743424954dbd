"""The error along each axis of an output, summed over samples of any length."""

import numpy as np
import pytest

from isomorph.measure.axis_profiles import Profiles


def profiles(*pairs, feeds=None):
    made = Profiles()
    for expected, actual in pairs:
        made.add(actual, expected, feeds or {})
    return {each.axis: each for each in made.found()}


def test_an_error_at_one_step_stands_at_that_step_alone():
    expected = np.ones((1, 5, 6))
    actual = expected.copy()
    actual[0, 3] += 0.5
    found = profiles((expected, actual))
    # One element of the batch and an axis of size one may be the time: the first axis is too short.
    assert found[1].relative == pytest.approx([0, 0, 0, 0.5, 0])
    assert found[2].relative == pytest.approx([np.sqrt(0.05)] * 6)


def test_the_batch_has_no_profile_and_short_axes_have_none():
    assert list(profiles((np.ones((8, 3, 4)), np.ones((8, 3, 4))))) == [2]


def test_time_before_the_batch_has_one():
    expected = np.ones((7, 1, 5))
    actual = expected.copy()
    actual[-1] = 0
    assert profiles((expected, actual))[0].relative == pytest.approx([0, 0, 0, 0, 0, 0, 1])


def test_the_last_axis_of_a_matrix_counts_only_if_an_input_has_its_length():
    pair = np.ones((2, 9)), np.zeros((2, 9))
    assert profiles(pair) == {}
    found = profiles(pair, feeds={"ids": np.zeros((2, 9))})
    assert found[1].input == "ids"
    assert found[1].relative == pytest.approx([1.0] * 9)


def test_of_sequences_of_different_lengths_the_longest_is_covered():
    short, long = np.ones((1, 4, 5)), np.ones((1, 6, 5))
    found = profiles((long, long * 2), (short, short), (long, long))[1]
    assert found.length == 6
    assert found.relative == pytest.approx([3**-0.5] * 4 + [2**-0.5] * 2)


def test_a_long_axis_is_shown_in_groups_of_neighbors():
    expected = np.ones((2, 1000, 1))
    actual = expected.copy()
    actual[:, 4:8] += 1
    found = profiles((expected, actual), feeds={"x": expected})[1]
    assert (found.length, found.step, len(found.relative)) == (1000, 4, 250)
    assert found.relative[:3] == pytest.approx((0, 1, 0))


def test_what_is_not_finite_counts_nowhere():
    expected = np.ones((2, 2, 4))
    actual = expected.copy()
    actual[0, 0, 1] = np.nan
    expected[0, 0, 2] = np.inf
    assert profiles((expected, actual))[2].relative == (0.0, 0.0, 0.0, 0.0)
