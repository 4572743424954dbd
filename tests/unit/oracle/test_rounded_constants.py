"""Constants under one more rounding: most move, small whole numbers do not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from isomorph.core.trace import Noise
from isomorph.oracle.noise import least_rounding, spread_evenly, unit_roundoff
from isomorph.oracle.rounded_constants import (
    move_by_rounding,
    narrowing_shifts,
    rounded_again,
    rounded_feeds,
    rounding_shifts,
    stands_for_itself,
)
from isomorph.oracle.value import EvalValue

NOISE = Noise(seed=3, constants=("c",))


def _moved(values: list[float], dtype: type = np.float32) -> np.ndarray:
    constant = EvalValue(np.array(values, dtype), constant=True)
    return np.asarray(rounded_again("c", constant, NOISE).wide() != constant.wide())


def test_a_rounded_number_moves_and_a_whole_one_stays():
    assert _moved([0.1, -1.414, 2.0, 0.0, -3.0, 1e-5]).tolist() == [
        True,
        True,
        False,
        False,
        False,
        True,
    ]


def test_what_is_whole_for_want_of_digits_moves():
    assert _moved([123456789.0, 8193.0]).tolist() == [True, True]
    assert _moved([45.0, 46.0], np.float16).tolist() == [False, True]


def test_what_somebody_wrote_down_stays():
    """A mask of -1e9 that moves by its rounding moves by more than all that it is added to."""
    lowest = float(np.finfo(np.float32).min)
    assert _moved([-1e9, -10000.0, lowest, -65504.0, 3.2e7]).tolist() == [False] * 5


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_no_number_stays_what_it_is(value: float):
    constant = EvalValue(np.array([value], np.float32), constant=True)
    assert np.array_equal(rounded_again("c", constant, NOISE).wide(), [value], equal_nan=True)


def test_only_what_the_noise_names_moves():
    constant = EvalValue(np.array([0.1], np.float32), constant=True)
    assert rounded_again("other", constant, NOISE) is constant
    assert rounded_again("c", constant, None) is constant


def test_scalars_are_distinguished_too():
    assert bool(stands_for_itself(np.array(2.0), 2.0**-24))
    assert not bool(stands_for_itself(np.array(0.1), 2.0**-24))


@pytest.mark.parametrize("value", [0.5, -1.5, 0.25, 2.0**-30, 3.0 * 2.0**100])
def test_numbers_with_half_of_their_digits_to_spare_were_not_rounded(value: float):
    assert bool(stands_for_itself(np.array(value), 2.0**-24))
    assert not bool(stands_for_itself(np.array(np.nextafter(np.float32(value), 0)), 2.0**-24))


def test_what_underflows_moves_by_half_its_spacing_and_keeps_its_sign():
    """The smallest number of float16 stands for anything from nothing to half as much again."""
    smallest = 2.0**-24
    constant = EvalValue(np.full(4000, smallest, np.float16), constant=True)
    moved = rounded_again("c", constant, NOISE).wide()
    assert np.all(moved > 0)
    assert np.std(moved) == pytest.approx(smallest / 2, rel=0.05)


@given(
    arrays(
        np.float32,
        st.integers(0, 20),
        elements=st.one_of(
            st.floats(width=32),
            st.integers(-(2**14), 2**14).map(lambda n: n / 128),
            st.sampled_from([1e9, -3.4028234663852886e38, 2.0**-127, 0.5, 4096.0, 4097.0]),
        ),
    )
)
def test_the_bits_of_float32_tell_what_its_value_tells(values):
    by_bits = stands_for_itself(values, 2.0**-24)
    assert np.array_equal(by_bits, stands_for_itself(values.astype(np.float64), 2.0**-24))


@pytest.mark.parametrize("shape", [(), (0,), (7,), (3, 40_000)])
def test_moving_numbers_adds_their_shifts(shape):
    values = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    shifts = rounding_shifts(values, "float32", np.random.default_rng(2))
    moved = np.array(values, np.float64)
    move_by_rounding(moved, "float32", np.random.default_rng(2), values)
    assert np.array_equal(moved, values.astype(np.float64) + shifts)
    assert shifts.shape == shape


@given(
    arrays(
        np.float32,
        st.integers(0, 40),
        elements=st.one_of(
            st.floats(width=32, allow_nan=False),
            st.integers(-(2**14), 2**14).map(lambda n: n / 128),
        ),
    ),
    st.sampled_from(["float32", "float16", "bfloat16"]),
)
def test_a_shift_is_a_share_of_the_rounding_of_its_number(values, dtype):
    shifts = rounding_shifts(values, dtype, np.random.default_rng(3))
    unit, least = unit_roundoff(dtype), least_rounding(dtype)
    steps = spread_evenly(np.random.default_rng(3), values.shape).astype(np.float64)
    sizes = np.maximum(np.abs(values.astype(np.float64)) * unit, least)
    expected = np.where(stands_for_itself(values, unit) | np.isinf(sizes), 0.0, sizes * steps)
    assert np.array_equal(shifts, expected)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_constant_is_moved_by_its_shift_and_stays_as_it_is(dtype, order):
    values = np.asarray(np.random.default_rng(4).normal(size=(3, 5)), dtype, order=order)
    before = values.copy()
    constant = EvalValue(values, constant=True)
    moved, other = (rounded_again("c", constant, NOISE) for _ in range(2))
    assert moved.shifted
    assert not constant.shifted
    shift = other.shift
    assert shift is not None
    assert np.array_equal(moved.wide(), before.astype(np.float64) + shift)
    assert np.array_equal(other.wide(), moved.wide())
    assert np.array_equal(moved.still(), before)
    assert np.array_equal(values, before)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (7,), (3, 5)])
def test_noise_has_the_shape_that_was_asked_for(shape):
    assert spread_evenly(np.random.default_rng(1), shape).shape == shape


@pytest.mark.parametrize("deviation", [1.0, 2.0**-24, 2.0**-53])
def test_noise_has_the_deviation_that_was_asked_for_and_moves_everything(deviation):
    steps = spread_evenly(np.random.default_rng(2), (1 << 16,), deviation).astype(np.float64)
    assert np.std(steps) == pytest.approx(deviation, rel=0.01)
    assert abs(np.mean(steps)) < 0.02 * deviation
    assert np.all(steps != 0)
    # Neighbors come from one random word.
    assert abs(np.corrcoef(steps[:-1], steps[1:])[0, 1]) < 0.02


NARROW_RUN = Noise(seed=3, rounding=True, run_dtype="bfloat16")


def test_a_run_in_a_narrow_type_moves_every_constant_that_does_not_fit_it():
    values = np.float32([0.5, 1.0 + 2.0**-7, 1.0 + 2.0**-8, 0.1])
    moved = rounded_again("other", EvalValue(values, constant=True), NARROW_RUN)
    assert (moved.wide() != values).tolist() == [False, False, True, True]
    narrow = EvalValue(values.astype("float16"), dtype="float16", constant=True)
    coarser = Noise(seed=3, rounding=True, run_dtype="float16")
    assert np.array_equal(rounded_again("other", narrow, coarser).wide(), narrow.wide())


@given(arrays(np.float32, 9, elements=st.floats(-1e4, 1e4, width=32)))
def test_keeping_numbers_in_a_type_moves_none_beyond_its_rounding(values):
    shifts = narrowing_shifts(values, "float16", np.random.default_rng(0))
    bound = np.maximum(unit_roundoff("float16") * np.abs(values), least_rounding("float16"))
    assert np.all(np.abs(shifts) <= bound)
    assert np.all(shifts[values.astype(np.float16) == values] == 0.0)


def test_what_is_fed_to_such_a_run_is_rounded_as_well():
    feeds = {"x": np.float32([0.1, 0.5]), "ids": np.array([1, 2])}
    assert rounded_feeds(feeds, NOISE) is feeds
    fed = rounded_feeds(feeds, NARROW_RUN)
    assert (fed["x"] != feeds["x"]).tolist() == [True, False]
    assert fed["ids"] is feeds["ids"]
