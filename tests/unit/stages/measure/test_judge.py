"""Integers under noise: a step is accepted where the noise takes steps, any number is not."""

import numpy as np
import pytest

from isomorph.stages.measure.judge import judge, judge_by_word
from isomorph.stages.measure.spread import FALSE_ALARM, Spread, merged


def spread(reach, *, unsettled=True):
    return Spread(
        draws=10,
        deviation=None,
        unsettled=np.full(3, unsettled),
        reach=None if reach is None else np.full(3, float(reach)),
    )


def ratio(actual, expected, given, dtype="uint8"):
    arrays = (np.array(actual, dtype), np.array(expected, dtype))
    part = judge(*arrays, given, dtype=dtype, derivation="", false_alarm=FALSE_ALARM)
    return part.budget.ratio


@pytest.mark.parametrize(("got", "within"), [(10, True), (11, True), (8, True), (13, False)])
def test_unsettled_integers_may_go_as_far_as_the_noise_goes(got, within):
    assert (ratio([got, 10, 10], [10, 10, 10], spread(1)) <= 1.0) == within


def test_settled_integers_may_not_move_at_all():
    assert ratio([11, 10, 10], [10, 10, 10], spread(1, unsettled=False)) == np.inf


def test_what_has_no_size_is_accepted_where_it_is_unsettled():
    assert ratio(["a", "b", "c"], ["a", "b", "d"], spread(None), dtype=object) == 0.0


def test_the_reach_of_both_sides_adds_up():
    both = merged(spread(1), spread(2))
    assert both.reach.tolist() == [3, 3, 3]
    assert merged(spread(1), spread(None)).reach is None


def test_the_largest_integers_are_told_apart():
    top = 2**64 - 1
    assert ratio([top, 0, 0], [0, 0, 0], spread(1), dtype="uint64") > 1.0


@pytest.mark.parametrize(
    ("once", "strays", "within"), [(0, 1, False), (3, 1, True), (3, 9, False), (60, 9, True)]
)
def test_numbers_that_no_draw_moved_are_as_few_as_single_draws_promise(once, strays, within):
    moved = np.zeros(1000, bool)
    moved[:once] = True
    drawn = Spread(draws=10, deviation=None, unsettled=moved, reach=moved.astype(float), once=once)
    expected = np.arange(1000)
    actual = np.where(np.arange(1000) >= 1000 - strays, expected + 1, expected)
    assert (ratio(actual, expected, drawn, "int32") <= 1.0) == within
    assert ratio(40 * actual, 40 * expected, drawn, "int32") > 1.0, "and not anywhere"


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint64"])
def test_a_stated_budget_of_whole_numbers_is_exact_at_the_ends_of_the_type(dtype):
    ends = np.iinfo(dtype)
    far = np.array([ends.max], dtype), np.array([ends.max - 3], dtype)
    assert judge_by_word(*far, 3.0, dtype=dtype).budget.ratio == 1.0
    assert judge_by_word(*far, 2.0, dtype=dtype).budget.ratio == 1.5
    assert judge_by_word(*far, 0.0, dtype=dtype).budget.ratio == np.inf
    whole = np.array([ends.max], dtype), np.array([ends.min], dtype)
    assert judge_by_word(*whole, 1.0, dtype=dtype).budget.ratio == float(ends.max - ends.min)
    assert judge_by_word(far[0], far[0], 0.0, dtype=dtype).budget.ratio == 0.0


def test_a_stated_budget_excuses_no_boolean_and_no_string():
    for one, other in (([True], [False]), (["a"], ["b"])):
        part = judge_by_word(np.array(one), np.array(other), 5.0, dtype="bool")
        assert part.budget.ratio == np.inf
