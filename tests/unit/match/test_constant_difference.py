"""The right value of a constant, in the form in which it is stored."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isomorph.core.model import Quantization
from isomorph.match.constant_difference import ConstantDifference, Suspect, difference_from
from isomorph.match.element_bounds import Elements
from isomorph.match.stored_weights import StoredWeight

EXPECTED = np.array([[0.5, -1.0], [0.25, 3.0]])


def weight(grid=None, dtype="float32"):
    return StoredWeight(
        name="w", dtype=dtype, shape=(2, 2), digest="", value_digest="", readers=(), grid=grid
    )


def difference(grid=None, dtype="float32", expected=EXPECTED, **more):
    return ConstantDifference(
        weight=weight(grid, dtype), reference=("v",), evidence=(),
        beyond=np.array([[True, False], [False, True]]), expected=expected, relative=0.25,
        shown=(((0, 0), 1.0, 2.0),), **more,
    )  # fmt: skip


def grid(*scale, zero=(0,), axis=None):
    return Quantization(tensor="w", dtype="int8", scale=scale, zero_point=zero, axis=axis)


def test_floats_are_rounded_to_their_own_type():
    found = difference(dtype="float16", expected=EXPECTED / 3).corrected(None)
    assert np.array_equal(found, (EXPECTED / 3).astype(np.float16))


def test_integers_are_counted_in_the_steps_of_their_grid():
    stored = np.zeros((2, 2), np.int8)
    found = difference(grid(0.25)).corrected(stored)
    assert found.dtype == np.int8
    assert found.tolist() == [[2, -4], [1, 12]]
    assert difference(grid(0.25, zero=(3,))).corrected(stored).tolist() == [[5, -1], [4, 15]]


@pytest.mark.parametrize("axis", [1, -1])
def test_each_channel_has_its_own_scale_and_zero_point(axis):
    found = difference(grid(0.25, 0.5, zero=(1, 2), axis=axis)).corrected(np.zeros((2, 2), np.int8))
    assert found.tolist() == [[3, 0], [2, 8]]


@given(st.floats(-1e6, 1e6))
def test_what_the_type_does_not_hold_is_cut_at_its_ends(value):
    made = difference(grid(0.5), expected=np.full((2, 2), value))
    found = made.corrected(np.zeros((2, 2), np.int8))
    assert found[0, 0] == np.clip(np.rint(value / 0.5), -128, 127)


def test_integers_in_blocks_are_packed_by_whoever_packed_them():
    packed = difference(grid(0.25), store=lambda value: value * 100).corrected(np.zeros(4, np.int8))
    assert np.array_equal(packed, EXPECTED * 100)


def test_a_constant_of_a_body_or_one_that_others_read_is_not_replaced():
    made = difference()
    assert made.replaceable
    assert not replace(made, inside=True).replaceable
    assert not replace(made, shared=True).replaceable


def test_the_text_counts_what_is_wrong():
    made = difference()
    assert (made.count, made.text) == (2, "2 of 4 elements, off by 25%")
    assert replace(made, missing_rows=3).text == "3 rows are missing"
    assert replace(made, shown=()).text == "its stored numbers differ"


def test_the_wrong_places_are_shown_with_the_right_and_the_wrong_value():
    actual = EXPECTED.copy()
    actual[0, 1] = 7.0
    actual[1, 1] = 3.125
    elements = Elements(
        beyond=np.array([[True, True], [False, False]]),
        between=np.array([[False, False], [False, True]]),
        informative=2,
    )
    suspect = Suspect(names=("v",), expected=EXPECTED, elements=elements, evidence=("value",))
    found = difference_from(weight(), actual, suspect)
    assert found.shown == (((0, 1), -1.0, 7.0),)
    assert np.array_equal(found.expected, EXPECTED)
    assert (found.reference, found.evidence) == (("v",), ("value",))
