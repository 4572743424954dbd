"""Elements that jump are compared with the values that draws reached, and with nothing between."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isomorph.measure.reached_values import (
    Reached,
    few_values,
    nearest,
    never_moved,
    usually_uncovered,
    usually_unmoved,
    values_meet,
)
from isomorph.measure.spread import Spread


def reached(*rows, plain=None):
    """Draws of a tensor as steps; the undisturbed one is put before them."""
    steps = np.array([np.zeros(len(rows[0])), *rows], float)
    shape = steps.shape[1:]
    return Reached(
        steps=steps,
        plain=len(rows) if plain is None else plain,
        few=np.ones(shape, bool),
        loose=np.zeros(shape),
    )


def test_an_element_that_takes_two_values_is_distinguished_from_one_that_spreads():
    jumps = [0, 1, 0, 1, 1, 0, 0, 1, 0, 1]
    spreads = np.random.default_rng(0).normal(size=10)
    few, variance, freedom = few_values(np.stack([jumps, spreads], axis=1))
    assert few.tolist() == [True, False]
    assert variance[0] == 0
    assert variance[1] == pytest.approx(np.sum(np.square(spreads)) / 9)
    assert freedom.tolist() == [8, 9]


def test_the_small_differences_around_the_reached_values_are_their_variance():
    around = np.random.default_rng(1).normal(scale=1e-4, size=12)
    jumps = np.repeat([0.0, 3.0], 6)
    few, variance, _ = few_values((jumps + around)[:, None])
    assert few[0]
    halves = around.reshape(2, 6)
    within = np.sum(np.square(halves - halves.mean(axis=1, keepdims=True)))
    assert variance[0] == pytest.approx(within / 10)


def test_what_takes_as_many_values_as_there_are_draws_takes_not_few():
    few, _, _ = few_values(np.arange(10.0)[:, None])
    assert not few.any()


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(2, 12))
def test_blocks_and_shapes_change_nothing(seed, width, draws):
    steps = np.random.default_rng(seed).choice([0.0, 0.0, 1.0, 1.5], size=(draws, width, 2))
    whole = few_values(steps)
    for place in np.ndindex(width, 2):
        alone = few_values(steps[(slice(None), *place)][:, None])
        assert [part[place] for part in whole] == [part[0] for part in alone]


def test_a_run_is_as_far_as_from_the_nearest_step_of_a_draw():
    side = reached([1.0, 0.0], [3.0, 0.0])
    where = np.array([True, True])
    far = nearest(np.array([2.75, 2.75]), (side,), where)
    assert far.tolist() == [0.25, 2.75]


def test_between_two_models_the_difference_of_two_draws_is_explained():
    side = reached([1.0], [3.0])
    where = np.array([True])
    assert nearest(np.array([2.0]), (side,), where).tolist() == [1.0]
    assert nearest(np.array([2.0]), (side, reached([0.0])), where).tolist() == [0.0]


def test_only_the_elements_asked_for_are_looked_at_and_infinite_steps_explain_nothing():
    side = reached([np.inf, 5.0, 1.0])
    far = nearest(np.array([7.0, 5.0, 9.0]), (side,), np.array([True, False, True]))
    assert far.tolist() == [7.0, 8.0]


def test_elements_that_one_draw_alone_moves_are_counted_per_draw():
    side = reached([1, 0, 2, 0], [0, 0, 2, 3])
    assert usually_unmoved(side) == 1.0
    assert usually_unmoved(reached([1, 0, 2, 0], [0, 0, 2, 3], plain=1)) == 1.0
    assert usually_unmoved(reached([1, 1], [1, 1])) == 0.0


def test_values_that_no_other_draw_comes_near_are_counted_per_draw():
    side = reached([1.0], [2.0], [2.1])
    assert usually_uncovered(side, np.array([0.5])) == pytest.approx(1 / 3)
    assert usually_uncovered(side, np.array([0.01])) == 1.0
    assert usually_uncovered(side, np.array([5.0])) == 0.0


def test_an_element_counts_as_unmoved_only_if_no_draw_of_either_side_moves_it():
    left, right = reached([1.0, 0.0, 0.0]), reached([0.0, 0.0, 1.0], [0.0, 0.0, 0.0])
    assert never_moved((left, right)).tolist() == [False, True, False]


def side(oracle, run, *rows):
    """A side with its run and the draws of its values."""
    drawn = (reached(*rows),) if rows else ()
    unsettled = np.zeros(len(oracle), bool)
    spread = Spread(draws=len(rows), deviation=None, unsettled=unsettled, reached=drawn)
    return np.array(run, float), np.array(oracle, float), spread


def test_sides_that_jump_need_a_value_in_common():
    jumping = side([2.0, 5.0], [1.0, 5.0], [-1, 0], [0, 0])
    assert not values_meet([jumping, side([0.0, 5.0], [0.0, 5.0])], 1e-6)
    assert values_meet([jumping, side([1.0, 5.0], [1.0, 5.0])], 1e-6)
    assert values_meet([jumping, side([2.0, 5.0], [2.0, 5.0])], 1e-6)
    assert values_meet([jumping, side([0.0, 5.0], [0.0, 5.0], [1, 0])], 1e-6)


def test_what_is_not_known_or_not_finite_is_no_difference():
    jumping = side([2.0], [1.0], [-1])
    assert values_meet([jumping, (None, None, None)], 1e-6)
    assert values_meet([jumping, side([0.0], [0.0])], None)
    assert values_meet([jumping, side([np.nan], [np.nan])], 1e-6)
    assert values_meet([side([2.0], [1.0]), side([0.0], [0.0])], 1e-6)
