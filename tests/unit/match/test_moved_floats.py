"""Numbers of a narrow weight that are all off alike, beside roundings."""

import ml_dtypes
import numpy as np
import pytest

from isomorph.match.element_bounds import Source
from isomorph.match.moved_floats import moved_floats

WEIGHT = np.random.default_rng(0).normal(size=(24, 16)).astype(np.float32).astype(np.float64)
KINDS = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}


def found(stored, dtype, expected=WEIGHT, source="float32"):
    return moved_floats(expected, stored.astype(np.float64), dtype, Source(dtype=source))


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("units", [-3, 3, 4])
def test_whole_units_are_found(dtype, units):
    stored = WEIGHT.astype(KINDS[dtype])
    assert found(stored, dtype) is None
    moved = (stored.view(np.int16) + np.int16(units)).view(KINDS[dtype])
    other = found(moved, dtype)
    assert other is not None
    assert other.text == f"all are about {units:+d} units in the last place off"
    assert other.too_large is (units > 0)


@pytest.mark.parametrize(("dtype", "factor"), [("float16", 1.003), ("bfloat16", 0.98)])
def test_a_factor_is_found(dtype, factor):
    other = found((WEIGHT * factor).astype(KINDS[dtype]), dtype)
    assert other is not None
    assert other.factor == pytest.approx(1 / factor, rel=1e-3)
    assert other.too_large is (factor > 1)


def test_a_bias_of_few_numbers():
    bias = WEIGHT[:1, :10]
    moved = (bias.astype(np.float16).view(np.int16) + np.int16(4)).view(np.float16)
    assert found(moved, "float16", bias) is not None
    assert found(moved[:, :3], "float16", bias[:, :3]) is None, "three may be off by chance"


def test_roundings_are_not_found():
    down = np.where(np.abs(np.float16(WEIGHT)) > np.abs(WEIGHT), np.int16(-1), np.int16(0))
    truncated = (WEIGHT.astype(np.float16).view(np.int16) + down).view(np.float16)
    assert found(truncated, "float16") is None
    through = WEIGHT.astype(ml_dtypes.bfloat16).astype(np.float16)
    assert found(through, "float16") is None
    random = np.random.default_rng(1).integers(-4, 5, WEIGHT.shape).astype(np.int16)
    again = (WEIGHT.astype(np.float16).view(np.int16) + random).view(np.float16)
    assert found(again, "float16") is None
    assert found(WEIGHT.astype(np.float32) * np.float32(1.5), "float32") is None


def test_two_narrow_weights_may_be_a_unit_apart():
    stored = WEIGHT.astype(np.float16)
    one, four = ((stored.view(np.int16) + np.int16(n)).view(np.float16) for n in (1, 4))
    expected = stored.astype(np.float64)
    assert found(one, "float16", expected, source="float16") is None
    assert found(four, "float16", expected, source="float16") is not None
