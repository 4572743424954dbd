"""Another arrangement of an output is accepted where it is allowed, single, and right by value."""

from dataclasses import replace

import numpy as np

from isomorph.match.axis_layout import Rearrangement
from isomorph.measure.output_layout import Arrangeable, rearranged_spread, rearrangement
from isomorph.measure.reached_values import Reached
from isomorph.measure.spread import Spread
from isomorph.measure.verdict import Evidence

CHANNELS = Arrangeable(channels=True)
ANYTHING = Arrangeable(anything=True)


def evidence(value, deviation=1e-6):
    spread = Spread(
        draws=8, deviation=np.full(value.shape, deviation), unsettled=np.zeros(value.shape, bool)
    )
    # A run may be wrong where the graph is right: the oracle decides where there is one.
    run = np.zeros_like(value)
    return Evidence(name="y", run=run, oracle=value, rounding=spread, execution=spread)


def drawn(*shape):
    return np.random.default_rng(shape).normal(size=shape)


def order(reference, candidate, allowed):
    found = rearrangement(evidence(reference), evidence(candidate), allowed, 1e-6)
    return None if found is None else found.permutation


def test_channels_that_moved_to_the_end_are_moved_back_where_that_is_allowed():
    value = drawn(2, 3, 4, 5)
    last = value.transpose(0, 2, 3, 1)
    assert order(value, last, CHANNELS) == (0, 3, 1, 2)
    assert order(last, value, CHANNELS) == (0, 2, 3, 1)
    assert order(value, last, Arrangeable()) is None


def test_another_order_of_axes_is_not_a_matter_of_channels():
    value = drawn(2, 3, 4)
    assert order(value, value.transpose(2, 1, 0), CHANNELS) is None
    assert order(value, value.transpose(2, 1, 0), ANYTHING) == (2, 1, 0)


def test_of_two_orders_that_fit_by_shape_the_values_decide():
    value = drawn(1, 4, 4, 3)
    first = value.transpose(0, 3, 1, 2)
    turned = value.transpose(0, 3, 2, 1)
    assert np.array_equal(_moved(value, first), value)
    assert np.array_equal(_moved(value, turned), value)


def _moved(reference, candidate):
    return rearrangement(evidence(reference), evidence(candidate), ANYTHING, 1e-6).array(candidate)


def test_where_no_order_agrees_a_single_plain_move_is_still_measured():
    assert order(drawn(2, 3, 4, 5), -drawn(2, 4, 5, 3), CHANNELS) == (0, 3, 1, 2)


def test_where_no_order_agrees_and_several_move_one_axis_there_is_none():
    assert order(drawn(2, 3, 2), -drawn(2, 2, 3), ANYTHING) is None


def test_nothing_is_broadcast_and_equal_shapes_stay():
    assert order(drawn(2, 3), drawn(1, 3), ANYTHING) is None
    square = drawn(3, 3)
    assert order(square, square.T, ANYTHING) is None


def test_what_the_user_states_is_taken_alone():
    stated = Arrangeable(anything=True, stated={"y": (1, 0)})
    value = drawn(3, 3)
    assert order(value, value.T, stated) == (1, 0)
    assert stated.rearrangements("y", (2, 3), (2, 3)) == ()


def test_recorded_values_are_compared_as_they_were_run():
    value = drawn(2, 3, 4)

    def recorded(array):
        return replace(evidence(array), run=array, oracle=None)

    found = rearrangement(
        recorded(value), recorded(value.transpose(2, 1, 0)), Arrangeable(anything=True), 1e-6
    )
    assert found.permutation == (2, 1, 0)


def test_without_values_there_is_no_arrangement():
    empty = Evidence(name="y", run=None, oracle=None, rounding=None, execution=None)
    value = evidence(drawn(2, 3))
    assert rearrangement(empty, value, ANYTHING, 1e-6) is None
    assert rearrangement(value, empty, ANYTHING, 1e-6) is None


def test_every_part_of_a_spread_moves_with_the_tensor():
    value = np.arange(6.0).reshape(2, 3)
    side = Reached(steps=np.stack([value, value + 1]), plain=1, few=value > 2, loose=value * 2)
    spread = Spread(draws=3, deviation=value, unsettled=value > 4, reached=(side,))
    moved = rearranged_spread(Rearrangement(permutation=(1, 0), shape=(3, 2)), spread)
    assert np.array_equal(moved.deviation, value.T)
    assert np.array_equal(moved.unsettled, value.T > 4)
    (there,) = moved.reached
    assert np.array_equal(there.steps[1], value.T + 1)
    assert np.array_equal(there.few, value.T > 2)
    assert np.array_equal(there.loose, value.T * 2)
    assert moved.draws == 3


def test_a_spread_without_deviations_has_none_afterwards():
    spread = Spread(draws=3, deviation=None, unsettled=np.zeros((2, 3), bool))
    moved = rearranged_spread(Rearrangement(permutation=(1, 0), shape=(3, 2)), spread)
    assert moved.deviation is None
    assert moved.unsettled.shape == (3, 2)
