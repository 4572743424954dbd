"""Blocks of elements in new places: every element stays one, and each rule has its way back."""

import numpy as np
import pytest

from isomorph.kernels import rearrangement as blocks
from isomorph.proof.sizes import Symbol, UndecidedSizeError, same, symbolic

PAIRS = {
    "DCR": (
        lambda s: blocks.space_to_depth(s, 2),
        lambda s: blocks.depth_to_space(s, 2),
        (2, 3, 4, 6),
    ),
    "CRD": (
        lambda s: blocks.space_to_depth(s, 2, "CRD"),
        lambda s: blocks.depth_to_space(s, 2, "CRD"),
        (2, 3, 4, 6),
    ),
    "channels last": (
        lambda s: blocks.last_space_to_depth(s, 2),
        lambda s: blocks.last_depth_to_space(s, 2),
        (2, 4, 6, 3),
    ),
    "batch": (
        lambda s: blocks.space_to_batch(s, (2, 3)),
        lambda s: blocks.batch_to_space(s, (2, 3)),
        (2, 4, 6, 3),
    ),
    "one axis of the batch": (
        lambda s: blocks.space_to_batch(s, (2,)),
        lambda s: blocks.batch_to_space(s, (2,)),
        (1, 4, 3, 2),
    ),
}


@pytest.mark.parametrize("name", sorted(PAIRS))
def test_every_rule_has_its_way_back(name):
    there, back, shape = PAIRS[name]
    x = np.arange(np.prod(shape)).reshape(shape)
    moved = there(x.shape).of(x)
    assert moved.shape != x.shape
    assert np.array_equal(back(moved.shape).of(moved), x)


def test_the_depth_stands_in_front_of_the_blocks_or_behind_them():
    x = np.arange(8).reshape(1, 8, 1, 1)
    assert blocks.depth_to_space(x.shape, 2).of(x).tolist() == [
        [[[0, 2], [4, 6]], [[1, 3], [5, 7]]]
    ]
    other = blocks.depth_to_space(x.shape, 2, "CRD").of(x)
    assert other.tolist() == [[[[0, 1], [2, 3]], [[4, 5], [6, 7]]]]


def test_pixels_of_a_block_lie_beside_each_other_in_the_batch():
    x = np.arange(4).reshape(1, 4, 1)
    assert blocks.space_to_batch(x.shape, (2,)).of(x).tolist() == [[[0], [2]], [[1], [3]]]


@pytest.mark.parametrize(
    "rule",
    [
        lambda: blocks.depth_to_space((1, 6, 2, 2), 2),
        lambda: blocks.space_to_depth((1, 2, 3, 2), 2),
        lambda: blocks.last_depth_to_space((1, 2, 2, 6), 2),
        lambda: blocks.last_space_to_depth((1, 3, 2, 2), 2),
        lambda: blocks.space_to_batch((1, 3, 2), (2,)),
        lambda: blocks.batch_to_space((3, 2, 2), (2,)),
        lambda: blocks.depth_to_space((1, 4, 2, 2), 0),
    ],
)
def test_blocks_must_fit(rule):
    with pytest.raises(ValueError, match="do not fit"):
        rule()


def test_a_batch_may_be_any_size():
    n = symbolic(Symbol("n", 3))
    found = blocks.depth_to_space((n, 8, 2, 2), 2)
    assert same(found.joined, (n, 2, 4, 4))
    with pytest.raises(UndecidedSizeError):
        blocks.batch_to_space((n, 2, 2), (2,))
