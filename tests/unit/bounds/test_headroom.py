"""The distance of measured numbers from the end of a type."""

import math

import numpy as np
import pytest

from isomorph.bounds.headroom import beyond, further_extreme, headroom
from isomorph.core.stated_numbers import FURTHER_OVERFLOW


@pytest.mark.parametrize(
    ("magnitude", "expected"), [(65504.0, 0.0), (65504.0 / 8, 3.0), (65504.0 * 4, -2.0)]
)
def test_headroom_counts_powers_of_two(magnitude, expected):
    assert headroom(magnitude, "float16") == pytest.approx(expected)


def test_zero_has_all_the_room():
    assert headroom(0.0, "float16") == math.inf


def test_what_rounds_to_the_largest_number_is_not_beyond():
    # float16 rounds up to infinity from 65520 on.
    found = beyond({"near": 65519.0, "over": -65520.0, "small": 1.0}, "float16")
    assert found == {"over": -65520.0}


def test_one_more_input_exceeds_the_extreme_of_the_others_as_often_as_stated():
    random, exceeded, turns = np.random.default_rng(0), 0, 40_000
    for _ in range(turns):
        drawn = np.exp(3.0 + 0.4 * random.standard_normal(7))
        exceeded += drawn[-1] > further_extreme(list(drawn[:-1]))
    # Five standard deviations of the count.
    expected = turns * FURTHER_OVERFLOW
    assert abs(exceeded - expected) < 5 * math.sqrt(expected)


def test_what_does_not_vary_is_not_extrapolated():
    assert further_extreme([-4e4] * 8) == pytest.approx(-4e4)


def test_two_inputs_say_nothing_of_a_third():
    assert further_extreme([2.0, -3.0]) == -3.0
    assert further_extreme([]) == 0.0
    assert further_extreme([0.0, 0.0, 0.0]) == 0.0
