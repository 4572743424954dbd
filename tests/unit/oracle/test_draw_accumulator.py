"""One accumulator of draws, for every statistic."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from isomorph.oracle.draw_accumulator import DrawAccumulator, Step, mean

FLOATS = st.floats(allow_nan=True, allow_infinity=True, width=64)
SMALL = st.floats(-1e3, 1e3)


class Recorder:
    """Keeps what an accumulator passes to its statistic."""

    def __init__(self):
        self.steps, self.lost = [], 0

    def add(self, step):
        self.steps.append(step)

    def lose(self):
        self.lost += 1


def same_shape(elements, count):
    """That many arrays of one shape."""
    shapes = array_shapes(max_dims=3, max_side=4)
    return shapes.flatmap(
        lambda shape: st.lists(arrays(np.float64, shape, elements=elements),
                               min_size=count, max_size=count)
    )  # fmt: skip


@given(same_shape(FLOATS, 2))
def test_a_step_returns_what_moved_and_what_is_finite(pair):
    draw, center = pair
    step = Step(draw=draw, center=center)
    with np.errstate(all="ignore"):
        expected = draw - center
    np.testing.assert_array_equal(step.difference(), expected)
    np.testing.assert_array_equal(step.finite(), np.isfinite(draw) & np.isfinite(center))
    assert step.same().all() == np.array_equal(draw, center, equal_nan=True)


def test_a_difference_is_a_new_array_in_float64_or_complex128():
    center = np.array([1, 2], np.int8)
    step = Step(draw=np.array([3, 2], np.int8), center=center)
    moved = step.difference()
    moved[...] = 7.0
    assert moved.dtype == np.float64
    assert center.tolist() == [1, 2]
    turned = Step(draw=np.array([1 + 1j], np.complex64), center=np.array([1.0 + 0j], np.complex64))
    assert turned.difference().dtype == np.complex128


@given(same_shape(SMALL, 5))
def test_draws_reach_the_statistic_about_the_value_or_about_their_mean(found):
    value, *draws = found
    for about_mean in (False, True):
        drawing = DrawAccumulator(value, Recorder(), about_mean=about_mean)
        for draw in draws:
            drawing.add(draw)
        seen = drawing.finish()
        assert [id(step.draw) for step in seen.steps] == [id(draw) for draw in draws]
        center = np.mean(draws, axis=0) if about_mean else value
        np.testing.assert_array_equal(drawing.center, center)
        assert all(step.center is drawing.center for step in seen.steps)


def test_without_a_mean_nothing_is_kept():
    drawing = DrawAccumulator(np.zeros(2), Recorder())
    drawing.add(np.ones(2), wide=True)
    drawing.add(np.ones(2))
    assert [step.wide for step in drawing.statistic.steps] == [True, False]


def test_finishing_twice_adds_no_draw_twice():
    drawing = DrawAccumulator(np.zeros(2), Recorder(), about_mean=True)
    drawing.add(np.ones(2))
    assert len(drawing.finish().steps) == len(drawing.finish().steps) == 1


@pytest.mark.parametrize("about_mean", [False, True])
@pytest.mark.parametrize(
    "other", [None, np.zeros(3), [np.zeros(2)], np.array(["a", "b"]), np.zeros(2, complex)]
)
def test_what_is_no_longer_the_tensor_is_lost_and_moves_no_mean(other, about_mean):
    value = np.array([5.0, 6.0])
    drawing = DrawAccumulator(value, Recorder(), about_mean=about_mean)
    drawing.add(np.zeros(2))
    drawing.add(other)
    seen = drawing.finish()
    assert (len(seen.steps), seen.lost) == (1, 1)
    assert drawing.center is value


def test_text_is_compared_with_text():
    text = np.array(["a", "b"], object)
    drawing = DrawAccumulator(text, Recorder())
    drawing.add(np.array(["a", "c"], object))
    assert drawing.finish().lost == 0


def test_the_mean_of_nothing_is_the_value():
    value = np.array([1.0])
    assert mean(value, []) is value


@pytest.mark.parametrize(
    "value", [np.array([1 + 2j, 3 - 1j]), np.array(["a", "b"]), np.array(["a", "b"], object)]
)
def test_the_center_of_what_has_no_real_numbers_is_its_value(value):
    assert mean(value, [value.copy(), value.copy()]) is value
    drawing = DrawAccumulator(value, Recorder(), about_mean=True)
    drawing.add(value.copy())
    assert drawing.finish().steps[0].center is value
