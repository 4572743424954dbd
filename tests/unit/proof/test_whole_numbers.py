"""Choices that are written as arithmetic of whole numbers, and what only looks like one."""

import numpy as np
import pytest

from isomorph.proof.real import evaluated
from isomorph.proof.term import WHOLE_IN_FLOAT32
from isomorph.proof.terms import Terms
from isomorph.proof.whole_numbers import below, product, total

FEEDS = {"x": np.array([5, -7, 9, 0]), "y": np.array([1, 2, -3, 4]),
         "c": np.array([True, False, True, False])}  # fmt: skip


@pytest.fixture
def t():
    return Terms()


@pytest.fixture
def x(t):
    return t.input("x", (4,), "int32")


@pytest.fixture
def y(t):
    return t.input("y", (4,), "int32")


@pytest.fixture
def condition(t):
    return t.input("c", (4,), "bool")


def as_number(t, flags, dtype="int32"):
    return t.function("cast", (flags,), attrs=(flags.dtype, dtype), dtype=dtype)


def opposite(t, flags):
    return t.function("not", (flags,), dtype="bool")


@pytest.mark.parametrize("turned", [False, True])
def test_a_truth_value_times_a_tensor_is_the_tensor_or_zero(t, x, condition, turned):
    given = (x, as_number(t, condition)) if turned else (as_number(t, condition), x)
    made = product(t, *given)
    assert made.dtype == "int32"
    np.testing.assert_array_equal(evaluated(made, FEEDS), FEEDS["x"] * FEEDS["c"])


def test_a_product_with_another_number_is_none(t, x, y, condition):
    assert product(t, x, y) is None
    assert product(t, x, as_number(t, condition, "int64")) is None
    assert product(t, x, as_number(t, t.input("l", (4,), "int64"))) is None


@pytest.mark.parametrize("turned", [False, True])
def test_products_with_opposite_truth_values_add_up_to_a_choice(t, x, y, condition, turned):
    parts = [
        product(t, as_number(t, condition), x),
        product(t, as_number(t, opposite(t, condition)), y),
    ]
    made = total(t, *(parts[::-1] if turned else parts))
    assert made is t.function("where", (condition, x, y), dtype="int32")
    chosen = np.where(FEEDS["c"], FEEDS["x"], FEEDS["y"])
    np.testing.assert_array_equal(evaluated(made, FEEDS), chosen)


def test_products_with_other_truth_values_do_not(t, x, y, condition):
    one, same = (product(t, as_number(t, condition), each) for each in (x, y))
    other = product(t, as_number(t, opposite(t, t.input("d", (4,), "bool"))), y)
    assert total(t, one, same) is None
    assert total(t, one, other) is None
    assert total(t, one, y) is None


def test_a_choice_that_is_not_zero_elsewhere_is_no_summand(t, x, y, condition):
    one = t.constant(np.ones((), np.int32), "int32")
    kept = t.function("where", (condition, x, one), dtype="int32")
    other = product(t, as_number(t, opposite(t, condition)), y)
    assert total(t, kept, other) is None


def compared(t, bound, dtype="int64", wide="float32"):
    whole = t.input("w", (3,), dtype)
    return below(t, as_number(t, whole, wide), t.constant(np.array(bound), wide)), whole


@pytest.mark.parametrize("bound", [2.0, -3.0, WHOLE_IN_FLOAT32 - 1.0])
def test_a_small_bound_compares_with_whole_numbers(t, bound):
    made, whole = compared(t, bound)
    expected = t.constant(np.array(int(bound), np.int64), "int64")
    assert made is t.function("less", (whole, expected), dtype="bool")
    near = {"w": np.array([int(bound) - 1, int(bound), int(bound) + 1])}
    np.testing.assert_array_equal(evaluated(made, near), [True, False, False])


@pytest.mark.parametrize("bound", [0.5, float(WHOLE_IN_FLOAT32), -float(WHOLE_IN_FLOAT32)])
def test_another_bound_does_not(t, bound):
    assert compared(t, bound)[0] is None


def test_nor_do_other_types_and_bounds_with_axes(t):
    assert compared(t, 2.0, dtype="uint8")[0] is None
    assert compared(t, 2.0, wide="float64")[0] is None
    assert compared(t, [2.0])[0] is None
