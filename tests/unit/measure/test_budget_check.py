"""What an element may be: what its own draws reached, and rounding in its own units around it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isomorph.measure.budget_check import judge, judge_stated_budget
from isomorph.measure.moments import Moments
from isomorph.measure.spread import FALSE_ALARM, Spread, merged
from isomorph.oracle.draw_accumulator import DrawAccumulator


def drawn(center, rows, *, wide=(), jumps=True):
    """The spread of a tensor whose draws were these."""
    value = np.asarray(center)
    drawing = DrawAccumulator(value, Moments(value, jumps=jumps))
    for row in rows:
        drawing.add(np.asarray(row, value.dtype))
    for row in wide:
        drawing.add(np.asarray(row, value.dtype), wide=True)
    return drawing.finish().spread(len(rows))


def ratio(actual, expected, spread, dtype="float32"):
    arrays = np.asarray(actual), np.asarray(expected)
    part = judge(*arrays, spread, dtype=dtype, derivation="", false_alarm=FALSE_ALARM)
    return part.budget.ratio


def whole(expected, flips):
    """Ten draws of integers, of which every other one moves element i by ``flips[i]``."""
    expected = np.asarray(expected)
    return [expected + (n % 2) * np.asarray(flips) for n in range(10)]


@pytest.mark.parametrize(("got", "within"), [(10, True), (11, True), (12, False), (9, False)])
def test_an_integer_may_be_what_its_draws_reached_and_no_other(got, within):
    expected = [10, 10, 10]
    spread = drawn(expected, whole(expected, [1, 0, 0]))
    assert (ratio([got, 10, 10], expected, spread, "int64") <= 1.0) == within


def test_a_tie_at_one_element_excuses_no_other():
    expected = [10, 10, 10]
    spread = drawn(expected, whole(expected, [1, 0, 0]))
    assert ratio([11, 11, 10], expected, spread, "int64") == np.inf


def test_between_two_models_either_may_have_jumped():
    expected = [10, 10]
    both = merged(
        drawn([10, 10], whole([10, 10], [1, 0])), drawn([11, 10], whole([11, 10], [-1, 0]))
    )
    for got, within in ((11, True), (9, True), (10, True), (12, False)):
        assert (ratio([got, 10], expected, both, "int64") <= 1.0) == within


def test_text_is_accepted_where_draws_disagree_on_it():
    spread = Spread(draws=10, deviation=None, unsettled=np.array([False, False, True]))
    words = np.array(["a", "b", "c"], object)
    assert ratio(words, np.array(["a", "b", "d"], object), spread, "object") == 0.0
    assert ratio(np.array(["x", "b", "c"], object), words, spread, "object") == np.inf


def test_the_largest_integers_are_distinguished():
    spread = drawn(np.zeros(3, np.uint64), [np.zeros(3)] * 10)
    top = np.array([2**64 - 1, 0, 0], np.uint64)
    assert ratio(top, np.zeros(3, np.uint64), spread, "uint64") > 1.0


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint64"])
def test_a_stated_budget_of_whole_numbers_is_exact_at_the_ends_of_the_type(dtype):
    ends = np.iinfo(dtype)
    far = np.array([ends.max], dtype), np.array([ends.max - 3], dtype)
    assert judge_stated_budget(*far, 3.0, dtype=dtype).budget.ratio == 1.0
    assert judge_stated_budget(*far, 2.0, dtype=dtype).budget.ratio == 1.5
    assert judge_stated_budget(*far, 0.0, dtype=dtype).budget.ratio == np.inf
    whole = np.array([ends.max], dtype), np.array([ends.min], dtype)
    assert judge_stated_budget(*whole, 1.0, dtype=dtype).budget.ratio == float(ends.max - ends.min)
    assert judge_stated_budget(far[0], far[0], 0.0, dtype=dtype).budget.ratio == 0.0


def test_a_stated_budget_excuses_no_boolean_and_no_string():
    for one, other in (([True], [False]), (["a"], ["b"])):
        part = judge_stated_budget(np.array(one), np.array(other), 5.0, dtype="bool")
        assert part.budget.ratio == np.inf


def test_whole_numbers_that_float64_does_not_distinguish_differ():
    large = np.array([2**60, 7])
    spread = drawn(large, [large] * 5 + [large + np.array([0, 1])] * 5)
    assert ratio(large + np.array([1, 0]), large, spread, "int64") == np.inf
    assert ratio(large + np.array([0, 1]), large, spread, "int64") == 0.0


@pytest.mark.parametrize(("got", "within"), [(2.0, True), (3.0, True), (2.5, False), (6.0, False)])
def test_a_float_that_jumps_may_be_either_value_and_nothing_between_or_beyond(got, within):
    rows = [[3.0 if n % 3 == 0 else 2.0, 5.0] for n in range(10)]
    spread = drawn(np.array([2.0, 5.0]), rows)
    assert (ratio([got, 5.0], [2.0, 5.0], spread) <= 1.0) == within


@pytest.mark.parametrize(("got", "within"), [(100.4, True), (0.4, True), (50.0, False)])
def test_around_the_values_of_a_jump_rounding_counts(got, within):
    random = np.random.default_rng(0)
    rows = [[(100.0 if n % 2 else 0.0) + 0.3 * random.standard_normal()] for n in range(20)]
    assert (ratio([got], [0.0], drawn(np.array([0.0]), rows)) <= 1.0) == within


def test_values_that_only_wider_noise_reaches_are_accepted():
    rows, wide = [[2.0]] * 10, [[2.0], [3.0], [2.0]]
    assert ratio([3.0], [2.0], drawn(np.array([2.0]), rows)) > 1e6
    assert ratio([3.0], [2.0], drawn(np.array([2.0]), rows, wide=wide)) == 0.0


def test_what_every_draw_leaves_uncovered_may_be_so_in_a_run():
    """A network full of grids: each draw moves other elements, and so does the run."""
    random = np.random.default_rng(1)
    expected = np.zeros(4000, np.int32)
    rows = [(random.random(4000) < 0.02).astype(np.int32) for _ in range(11)]
    spread = drawn(expected, rows[:10])
    assert ratio(rows[10], expected, spread, "int32") <= 1.0
    assert ratio(40 * rows[10], expected, spread, "int32") > 1.0, "and not anywhere"
    assert ratio((random.random(4000) < 0.5).astype(np.int32), expected, spread, "int32") > 1.0


@given(st.integers(4, 30), st.floats(1.0, 1e30), st.integers(0, 2**32 - 1))
def test_a_large_neighbor_hides_nothing(elements, large, seed):
    random = np.random.default_rng(seed)
    sizes = np.ones((2, elements))
    sizes[:, : elements // 2] = large
    center = sizes * random.uniform(1.0, 2.0, sizes.shape)
    noise = 2.0**-24
    rows = [center * (1.0 + noise * random.standard_normal(center.shape)) for _ in range(10)]
    spread = drawn(center, rows, jumps=False)
    wrong = center.copy()
    wrong[1, -1] *= 1.0 + 2.0**-16
    assert ratio(wrong, center, spread) > 1.0
    right = center * (1.0 + noise * random.uniform(-1, 1, center.shape))
    assert ratio(right, center, spread) <= 1.0


def test_underflow_excuses_what_is_zero_on_one_side_alone():
    small = np.array([3e-5, 3e-5, 0.0])
    spread = Spread(draws=10, deviation=np.zeros(3), unsettled=np.zeros(3, bool))
    assert ratio([0.0, 3e-5, 0.0], small, spread, "float16") <= 1.0
    assert ratio([2e-5, 3e-5, 0.0], small, spread, "float16") > 1.0


def test_elements_that_often_move_excuse_none_that_never_does():
    """Seven-way ties leave values uncovered in every draw; what stands still is not one of them."""
    random = np.random.default_rng(2)
    expected = np.zeros(20, np.int64)
    ties = np.arange(20) < 10
    rows = [np.where(ties, random.integers(0, 7, 20), 0) for _ in range(10)]
    spread = drawn(expected, rows)
    assert ratio(np.where(np.arange(20) == 15, 3, 0), expected, spread, "int64") > 1.0
    assert ratio(np.where(ties, random.integers(0, 7, 20), 0), expected, spread, "int64") <= 1.0


def test_a_single_number_is_judged_as_any():
    spread = drawn(np.array(2), [np.array(2 + n % 2) for n in range(10)])
    assert ratio(np.array(3), np.array(2), spread, "int64") == 0.0
    assert ratio(np.array(4), np.array(2), spread, "int64") > 1.0
