import numpy as np
import pytest

from isomorph.measure.tensor_details import close_up

RNG = np.random.default_rng(3)


def seen(reference, candidate, **more):
    return close_up("output", ("a", "b"), reference, candidate, **more)


def test_the_map_and_the_channel_show_where_the_fault_sits():
    ref = RNG.normal(size=(1, 6, 8, 8)).astype(np.float32)
    cand = ref.copy()
    cand[0, 4, 7, :] += 0.5
    found = seen(ref, cand)
    heat = np.array(found.heat_map.values)
    assert (found.heat_map.row_axis, found.heat_map.column_axis) == (2, 3)
    assert heat[7].min() > 0.4
    assert heat[:7].max() == 0
    channels = next(each for each in found.by_axis if each.axis == 1)
    assert int(np.argmax(channels.relative)) == 4
    assert sum(value > 0 for value in channels.relative) == 1


def test_channels_last_are_an_image_too():
    zeros = np.zeros((2, 5, 5, 3))
    found = seen(zeros, zeros + 1)
    assert (found.heat_map.row_axis, found.heat_map.column_axis) == (1, 2)


def test_long_axes_are_grouped_without_losing_a_peak():
    ref = np.ones((1, 1000, 300))
    cand = ref.copy()
    cand[0, 777, 299] = 3.0
    found = seen(ref, cand, feeds={"tokens": np.zeros((1, 1000))})
    heat = np.array(found.heat_map.values)
    assert heat.size <= 48 * 48
    assert heat.max() == 2.0
    steps = next(each for each in found.by_axis if each.axis == 1)
    assert steps.input == "tokens"
    assert int(np.argmax(steps.relative)) == 777 // steps.step
    assert len(steps.relative) <= 128


def test_features_and_channels_are_no_time_steps():
    states = np.ones((1, 3, 24))
    found = seen(states, states + 1, feeds={"c0": np.zeros((1, 3, 24))})
    assert [each.input for each in found.by_axis] == ["c0", None]
    image = np.ones((1, 16, 16, 16))
    found = seen(image, image + 1, feeds={"image": np.zeros((1, 3, 16, 16))})
    assert {each.input for each in found.by_axis} == {None}


def test_time_may_come_before_the_batch():
    states = np.ones((9, 3, 8))
    found = seen(states, states + 1, feeds={"x": np.zeros((9, 3, 16))})
    assert [each.input for each in found.by_axis] == ["x", "x", None]


def test_the_worst_elements_come_first_with_both_values():
    ref = np.array([[1.0, 2.0, 3.0]])
    cand = np.array([[1.0, 2.5, 5.0]])
    worst = seen(ref, cand).worst
    assert [(one.index, one.reference, one.candidate) for one in worst] == [
        ((0, 2), 3.0, 5.0),
        ((0, 1), 2.0, 2.5),
    ]


def test_a_nan_on_one_side_is_the_worst_and_on_both_is_nothing():
    ref = np.array([1.0, np.nan, np.inf, 4.0])
    cand = np.array([np.nan, np.nan, np.inf, 4.1])
    found = seen(ref, cand)
    assert found.max_abs == np.inf
    assert [one.index for one in found.worst] == [(0,), (3,)]
    assert (found.histogram.reference_not_finite, found.histogram.candidate_not_finite) == (2, 3)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1, 1)])
def test_small_and_empty_tensors_have_no_map_and_break_nothing(shape):
    found = seen(np.zeros(shape), np.ones(shape))
    assert found.shape == shape
    assert found.heat_map is None
    assert len(found.worst) == int(np.prod(shape))


def test_integers_count_and_words_do_not():
    assert seen(np.array([1, 2]), np.array([1, 3])).max_abs == 1
    assert seen(np.array(["a"], object), np.array(["b"], object)) is None
    assert seen(np.zeros(2), np.zeros(3)) is None


def test_a_range_too_wide_for_a_float_has_no_histogram():
    assert seen(np.array([-1.7e308, 1.7e308]), np.zeros(2)).histogram is None


def test_values_of_which_none_is_finite_have_no_details():
    nothing = np.array([np.nan, np.inf])
    assert close_up("node", ("a", "b"), nothing, nothing) is None
    assert close_up("node", ("a", "b"), nothing, np.array([1.0, np.inf])) is not None
