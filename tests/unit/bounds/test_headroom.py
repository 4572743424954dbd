"""The distance of measured numbers from the end of a type."""

import math

import pytest

from isomorph.bounds.headroom import beyond, headroom


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
