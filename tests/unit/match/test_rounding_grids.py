"""The integers of a weight tell the scale and the zero point that they were rounded with."""

import numpy as np
import pytest

from isomorph.core.model import Quantization
from isomorph.match.element_bounds import Source
from isomorph.match.rounding_grids import other_grid

WEIGHT = np.random.default_rng(3).normal(size=(12, 30)).astype(np.float32).astype(np.float64)
SOURCE = Source(dtype="float32")


def grid(scale, zero=0, axis=None, dtype="int8"):
    scale = np.atleast_1d(np.asarray(scale, np.float32))
    zeros = np.broadcast_to(zero, scale.shape)
    return Quantization(
        tensor="w", dtype=dtype, axis=axis,
        scale=tuple(map(float, scale)), zero_point=tuple(map(int, zeros)),
    )  # fmt: skip


def rounded(weight, scale, zero=0, low=-127, high=127, rounding=np.rint):
    return np.clip(rounding(weight / scale) + zero, low, high).astype(np.int64)


def tensor_scale(weight, reach=1.0):
    return np.float32(reach * np.abs(weight).max() / 127)


def channel_scales(weight, reach=1.0):
    return (reach * np.abs(weight).max(axis=1) / 127).astype(np.float32)


@pytest.mark.parametrize("reach", [1.0, 0.7, 1.3])
def test_the_stated_scale_is_right(reach):
    """With a range that clips the largest numbers, and with one that is wider than needed."""
    scale = tensor_scale(WEIGHT, reach)
    assert other_grid(grid(scale), WEIGHT, rounded(WEIGHT, scale), SOURCE) is None
    scales = channel_scales(WEIGHT, reach)
    integers = rounded(WEIGHT, scales[:, None])
    assert other_grid(grid(scales, axis=0), WEIGHT, integers, SOURCE) is None


@pytest.mark.parametrize("factor", [1.1, 1.02, 0.98, 0.5, 3.0])
@pytest.mark.parametrize("reach", [1.0, 0.7])
def test_another_scale_is_found(factor, reach):
    scale = tensor_scale(WEIGHT, reach)
    found = other_grid(grid(scale * factor), WEIGHT, rounded(WEIGHT, scale), SOURCE)
    assert found is not None
    assert found.factor == pytest.approx(1 / factor, rel=2e-3)
    scales = channel_scales(WEIGHT, reach)
    integers = rounded(WEIGHT, scales[:, None])
    found = other_grid(grid(scales * factor, axis=0), WEIGHT, integers, SOURCE)
    assert found is not None
    assert found.factor == pytest.approx(1 / factor, rel=1e-2)
    assert "times that of its integers" in found.text


def test_channels_may_be_off_by_different_factors():
    scales = channel_scales(WEIGHT)
    stated = scales * np.linspace(0.9, 1.1, len(scales)).astype(np.float32)
    found = other_grid(grid(stated, axis=0), WEIGHT, rounded(WEIGHT, scales[:, None]), SOURCE)
    assert found is not None
    assert found.factor == pytest.approx(1 / 0.9, rel=1e-2)
    assert found.moved[0].all()


@pytest.mark.parametrize("shift", [1, -2])
def test_another_zero_point_is_found(shift):
    low, high = WEIGHT.min(), WEIGHT.max()
    scale = np.float32((high - low) / 255)
    zero = int(np.rint(-low / scale))
    integers = rounded(WEIGHT, scale, zero, 0, 255)
    stated = grid(scale, zero, dtype="uint8")
    assert other_grid(stated, WEIGHT, integers, SOURCE) is None
    found = other_grid(grid(scale, zero + shift, dtype="uint8"), WEIGHT, integers, SOURCE)
    assert found is not None
    assert found.shift == -shift
    assert found.text == f"its zero point is {shift:+d} off that of its integers"


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("shape", [(12, 30), (3, 2), (16, 9)])
def test_learned_roundings_are_no_other_grid(seed, shape):
    """Each number is rounded up or down."""
    random = np.random.default_rng(seed)
    weight = random.normal(size=shape)
    learned = np.vectorize(lambda x: np.floor(x) + (random.random() < 0.5))
    for scales, axis in ((tensor_scale(weight), None), (channel_scales(weight), 0)):
        spread = scales if axis is None else scales[:, None]
        integers = rounded(weight, spread, rounding=learned)
        assert other_grid(grid(scales, axis=axis), weight, integers, SOURCE) is None


@pytest.mark.parametrize("seed", range(20))
def test_compensated_errors_are_no_other_grid(seed):
    """Each number takes a part of the error of those before it, as in GPTQ."""
    random = np.random.default_rng(seed)
    weight = random.normal(size=(8, 24))
    scales = channel_scales(weight)[:, None] * 16
    moved, integers = weight.copy(), np.zeros(weight.shape, np.int64)
    for place in range(24):
        integers[:, place] = rounded(moved[:, place : place + 1], scales, 0, -7, 7)[:, 0]
        error = moved[:, place] - integers[:, place] * scales[:, 0]
        share = 0.4 * random.normal(size=24 - place - 1)
        moved[:, place + 1 :] -= error[:, None] * share
    stated = grid(scales[:, 0], axis=0, dtype="int4")
    assert other_grid(stated, weight, integers, SOURCE) is None


def test_a_scale_may_be_rounded_to_the_type_that_stores_it():
    scales = channel_scales(WEIGHT)
    integers = rounded(WEIGHT, scales[:, None])
    stored = scales.astype(np.float16).astype(np.float32)
    assert other_grid(grid(stored, axis=0), WEIGHT, integers, SOURCE) is None
    moved = (stored.astype(np.float16).view(np.int16) + 16).view(np.float16).astype(np.float32)
    assert other_grid(grid(moved, axis=0), WEIGHT, integers, SOURCE) is not None


def test_a_bias_with_a_scale_for_each_number():
    """One factor explains all of them; factors of their own would explain anything."""
    bias = np.random.default_rng(1).normal(size=8)
    scales = np.float32(1e-4) * np.linspace(1, 2, 8).astype(np.float32)
    integers = np.rint(bias / scales).astype(np.int64)
    right, wrong = (grid(scales * f, axis=0, dtype="int32") for f in (1.0, 1.1))
    assert other_grid(right, bias, integers, SOURCE) is None
    found = other_grid(wrong, bias, integers, SOURCE)
    assert found is not None
    assert found.factor == pytest.approx(1 / 1.1, rel=1e-3)
    corrected = bias + 0.1 * np.random.default_rng(2).normal(size=8)
    integers = np.rint(corrected / scales).astype(np.int64)
    assert other_grid(right, bias, integers, SOURCE) is None


def test_the_error_of_a_folded_weight_is_no_other_grid():
    scale = tensor_scale(WEIGHT)
    integers = rounded(WEIGHT * 1.01, scale)
    stated = grid(scale)
    assert other_grid(stated, WEIGHT, integers, SOURCE) is not None
    loose = Source(dtype="float32", relative_bound=2e-2)
    assert other_grid(stated, WEIGHT, integers, loose) is None
