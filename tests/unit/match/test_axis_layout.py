import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isomorph.match.axis_layout import (
    arrangements,
    channel_moves,
    keeps_order,
    moves_channels,
    stated_arrangement,
)


@given(st.permutations(range(4)))
def test_every_permutation_of_unlike_axes_is_found_and_is_the_only_one(order):
    shape = (2, 3, 5, 7)
    target = tuple(shape[axis] for axis in order)
    found = arrangements(shape, target)
    assert [each.permutation for each in found] == [tuple(order)]
    x = np.arange(210).reshape(shape)
    assert np.array_equal(found[0].array(x), x.transpose(order))


@pytest.mark.parametrize(
    ("shape", "target", "count"),
    [
        ((2, 3, 8, 8), (2, 8, 8, 3), 2),
        ((1, 3, 8, 8), (None, None, None, 3), 2),
        ((1, 4), (4,), 1),
        ((4,), (1, 4, 1), 1),
        ((2, 3), (3, 3), 0),
        ((2, 3), (6,), 0),
    ],
)
def test_how_many_ways_there_are(shape, target, count):
    assert len(arrangements(shape, target)) == count


def test_channels_last_keeps_the_order_of_the_image():
    first, second = arrangements((2, 3, 8, 8), (2, 8, 8, 3))
    assert first.permutation == (0, 2, 3, 1)
    assert keeps_order(first)
    assert not keeps_order(second)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_channel_moves_are_the_arrangements_that_move_channels(shape, random):
    target = list(shape)
    axis = random.randrange(len(shape))
    target.append(target.pop(axis))
    if random.random() < 0.3:
        random.shuffle(target)
    value = np.arange(np.prod(shape)).reshape(shape)

    def seen(ways):
        return {way.array(value).tobytes() for way in ways}

    expected = seen(way for way in arrangements(shape, target) if moves_channels(way))
    assert seen(channel_moves(shape, target)) == expected


def test_a_matrix_has_no_channels_and_many_axes_have():
    assert not channel_moves((2, 3), (3, 2))
    shape = (2, 3, 4, 5, 6, 7, 8, 9)
    (way,) = channel_moves(shape, (2, 4, 5, 6, 7, 8, 9, 3))
    assert way.permutation == (0, 2, 3, 4, 5, 6, 7, 1)
    assert not channel_moves(shape, shape[:-1])


@given(st.lists(st.integers(1, 4), min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_a_stated_order_is_undone(shape, random):
    axes = [axis for axis, size in enumerate(shape) if size != 1 or random.random() < 0.5]
    random.shuffle(axes)
    value = np.arange(np.prod(shape)).reshape(shape)
    dropped = tuple(axis for axis in range(len(shape)) if axis not in axes)
    kept = [axis for axis in range(len(shape)) if axis in axes]
    moved = value.squeeze(dropped).transpose([kept.index(axis) for axis in axes])
    way = stated_arrangement(axes, moved.shape, shape)
    assert np.array_equal(way.array(moved), value)


def test_a_stated_order_that_does_not_fit_is_none():
    assert stated_arrangement((0,), (3,), (2, 3)) is None, "the axis left out is longer than one"
    assert stated_arrangement((0, 1), (3, 2), (2, 3)) is None
    assert stated_arrangement((0, 5), (2, 3), (2, 3)) is None
    assert stated_arrangement((0, 0), (2, 2), (2, 3)) is None
