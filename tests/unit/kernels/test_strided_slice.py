"""TensorFlow's slice by bounds, steps and masks, as NumPy indexes."""

import numpy as np
import pytest

from isomorph.kernels.strided_slice import StridedSlice

X = np.arange(60).reshape(3, 4, 5)


def sliced(begin, end, strides=None, **masks):
    rule = StridedSlice(begin=begin, end=end, strides=strides or (1,) * len(begin), **masks)
    return X[tuple(rule.cuts(X.shape))]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (sliced((1, 0), (3, -1)), X[1:3, 0:-1]),
        (sliced((1, 0), (9, 2), begins=1, ends=2), X[:9, 0:]),
        (sliced((0, 3), (1, 0), (1, -2)), X[0:1, 3:0:-2]),
        (sliced((1, 0, -1), (0, 0, 0), ellipsis=2, shrinks=5), X[1, ..., -1]),
        (sliced((0, 0, 2), (0, 0, 4), ellipsis=1, news=2), X[..., None, 2:4]),
        (sliced((0, 1), (0, 2), news=1), X[None, 1:2]),
        (sliced((-2,), (0,), shrinks=1), X[-2]),
        (sliced((0,), (0,), news=1, shrinks=1), X[None]),
        (sliced((), ()), X),
    ],
)
def test_every_mask_is_numpys(found, expected):
    assert np.array_equal(found, expected)
    assert found.shape == expected.shape


def test_a_place_may_lie_beyond_its_axis():
    assert StridedSlice(begin=(7,), end=(8,), strides=(1,), shrinks=1).cuts((3,)) == [7]
    assert StridedSlice(begin=(-4,), end=(8,), strides=(1,), shrinks=1).cuts((3,)) == [-1]
