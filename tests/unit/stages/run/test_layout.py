import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isomorph.stages.run.layout import arrangements, keeps_order


@given(st.permutations(range(4)))
def test_every_permutation_of_unlike_axes_is_found_and_is_the_only_one(order):
    shape = (2, 3, 5, 7)
    wanted = tuple(shape[axis] for axis in order)
    found = arrangements(shape, wanted)
    assert [each.permutation for each in found] == [tuple(order)]
    x = np.arange(210).reshape(shape)
    assert np.array_equal(found[0].array(x), x.transpose(order))


@pytest.mark.parametrize(
    ("shape", "wanted", "count"),
    [
        ((2, 3, 8, 8), (2, 8, 8, 3), 2),
        ((1, 3, 8, 8), (None, None, None, 3), 2),
        ((1, 4), (4,), 1),
        ((4,), (1, 4, 1), 1),
        ((2, 3), (3, 3), 0),
        ((2, 3), (6,), 0),
    ],
)
def test_how_many_ways_there_are(shape, wanted, count):
    assert len(arrangements(shape, wanted)) == count


def test_channels_last_keeps_the_order_of_the_image():
    first, second = arrangements((2, 3, 8, 8), (2, 8, 8, 3))
    assert first.permutation == (0, 2, 3, 1)
    assert keeps_order(first)
    assert not keeps_order(second)
