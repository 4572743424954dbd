"""In which arrangements of its axes a weight is looked for."""

import numpy as np
import pytest

from isomorph.core.digest import constant_of
from isomorph.core.model import Quantization
from isomorph.match.arranged_weights import (
    only_moved,
    same_sign_arrangements,
    shifted_arrangements,
)
from isomorph.match.element_bounds import Source
from isomorph.match.stored_weights import StoredWeight

REAL = np.random.default_rng(0).normal(size=(6, 8))
SCALE = 0.02


def quantized(zero, axis=None):
    """The numbers that are read with these zero points from integers that were made with zero."""
    count = np.size(zero)
    grid = Quantization(
        tensor="w", dtype="int8", scale=(SCALE,) * count, zero_point=(0,) * count, axis=axis
    )
    weight = StoredWeight(
        name="w", dtype="int8", shape=(8, 6), digest="", value_digest="", readers=(), grid=grid
    )
    return weight, SCALE * (np.rint(REAL.T / SCALE) + np.asarray(zero))


@pytest.mark.parametrize(
    ("zero", "axis"), [(-12, None), (-30, None), (np.arange(-12, 12, 4)[None], 1)]
)
def test_a_wrong_zero_point_moves_numbers_to_another_sign(zero, axis):
    weight, actual = quantized(zero, axis)
    source = Source(dtype="float32")
    assert not list(same_sign_arrangements(REAL, actual, source))
    (found,) = shifted_arrangements(REAL, actual, weight, source)
    np.testing.assert_array_equal(found[0], REAL.T)


def test_a_float_weight_has_no_zero_point():
    weight, actual = quantized(4)
    plain = StoredWeight(
        name="w", dtype="float32", shape=(8, 6), digest="", value_digest="", readers=weight.readers
    )
    assert not list(shifted_arrangements(REAL, actual, plain, Source(dtype="float32")))


class Read:
    """Weights whose numbers are counted as they are read."""

    def __init__(self, array):
        self.array, self.times = array, 0

    def numbers(self, weight):
        self.times += 1
        return self.array


def stored(array):
    found = constant_of("w", array)
    return StoredWeight(
        name="w", dtype=found.dtype, shape=found.shape, digest=found.digest, readers=(),
        value_digest=found.value_digest, turned_digest=found.turned_digest,
    )  # fmt: skip


def test_a_large_matrix_with_its_axes_exchanged_is_recognized_without_being_read(monkeypatch):
    monkeypatch.setattr("isomorph.core.digest._LARGE_MATRIX", 1 << 18)
    value = np.random.default_rng(0).normal(size=(500, 600)).astype(np.float32)
    one, other = Read(value), Read(value.T)
    assert only_moved(stored(value), one, stored(value.T), other)
    assert (one.times, other.times) == (0, 0)
    swapped = value.copy()
    swapped[[0, 1]] = swapped[[1, 0]]  # the same numbers, in no arrangement of the axes
    assert not only_moved(stored(swapped), Read(swapped), stored(value.T), other)
    assert other.times == 1
    small = value[:6]
    assert only_moved(stored(small), one_of := Read(small), stored(small.T), Read(small.T))
    assert one_of.times == 1
