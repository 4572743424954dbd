import math

import numpy as np
import pytest

from isomorph.core.model import Quantization
from isomorph.measure.quantization_grid import Grid, sqnr_db


def grid(dtype="int8", scale=(0.5,), zero=(0,), axis=None):
    return Grid(Quantization(tensor="t", dtype=dtype, scale=scale, zero_point=zero, axis=axis))


def test_the_range_follows_from_type_scale_and_zero_point():
    assert grid().representable == (-64.0, 63.5)
    assert grid("uint8", (0.5, 1.0), (0, 255), axis=0).representable == (-255.0, 127.5)


def test_values_beyond_the_range_are_clipped_and_those_that_round_into_it_are_not():
    seen = grid().figures(np.array([-64.2, 0.0, 63.7, 63.8]))
    assert seen.clipped == 0.25
    assert seen.rectified == 0.0
    assert seen.seen == (-64.2, 63.8)


def test_an_end_at_zero_is_a_relu_and_no_loss():
    values = np.concatenate([np.linspace(-1, 0, 50), np.linspace(0, 1, 50)])
    seen = grid("uint8", (1 / 255,), (0,)).figures(values)
    assert seen.clipped == 0.0
    assert 0.45 < seen.rectified < 0.5
    assert seen.sqnr_db == pytest.approx(seen.ideal_sqnr_db)
    mirrored = grid("uint8", (1 / 255,), (255,)).figures(-values)
    assert mirrored.rectified == seen.rectified


def test_a_step_twice_as_wide_costs_six_decibels():
    values = np.random.default_rng(0).uniform(-1, 1, 20_000)
    fine = grid("int8", (2 / 255,)).figures(values)
    coarse = grid("int8", (4 / 255,)).figures(values)
    assert fine.sqnr_db == pytest.approx(fine.ideal_sqnr_db, abs=0.3)
    assert coarse.ideal_sqnr_db == fine.ideal_sqnr_db
    assert fine.sqnr_db - coarse.sqnr_db == pytest.approx(6.0, abs=0.3)
    assert (fine.used, coarse.used) == pytest.approx((1.0, 0.5), abs=0.01)


def test_the_ideal_has_the_same_granularity():
    values = np.random.default_rng(1).standard_normal((2, 500)) * [[1.0], [100.0]]
    ends = np.abs(values).max(1) / 127
    sliced = grid("int8", tuple(ends), (0, 0), axis=0).figures(values)
    whole = grid("int8", (float(ends.max()),)).figures(values)
    assert sliced.ideal_sqnr_db > whole.ideal_sqnr_db
    assert sliced.used > whole.used - 0.2
    assert sliced.sqnr_db == pytest.approx(sliced.ideal_sqnr_db, abs=2.0)


def test_what_was_stored_is_measured_not_what_should_have_been():
    values = np.random.default_rng(2).uniform(-1, 1, 1000)
    right = grid("int8", (1 / 127,)).figures(values)
    wrong = grid("int8", (1 / 127,)).figures(values, 1.1 * values)
    assert wrong.sqnr_db == pytest.approx(20.0)
    assert wrong.ideal_sqnr_db == right.ideal_sqnr_db


def test_nobody_chose_the_step_of_a_bias():
    seen = grid("int32", (1e-5,)).figures(np.linspace(-1, 1, 9))
    assert seen.sqnr_db > 60
    assert seen.ideal_sqnr_db is None


@pytest.mark.parametrize("axis", [None, 0, 7])
def test_scales_that_do_not_fit_the_axis_leave_only_the_range(axis):
    seen = grid("int8", (0.5, 1.0), (0, 0), axis=axis).figures(np.ones((3, 2)))
    assert seen.representable == (-128.0, 127.0)
    assert seen.seen is None
    assert seen.sqnr_db is None


def test_a_float8_grid_is_one_too():
    values = np.random.default_rng(3).standard_normal(1000)
    seen = grid("float8_e4m3fn", (np.abs(values).max() / 448,)).figures(values)
    assert seen.representable[1] == pytest.approx(np.abs(values).max())
    assert seen.sqnr_db == pytest.approx(seen.ideal_sqnr_db)


def test_zeros_and_nothing_have_no_signal():
    assert grid().figures(np.zeros(4)).sqnr_db is None
    assert grid().figures(np.zeros((0, 3))).seen is None
    assert sqnr_db(np.ones(3), np.ones(3)) == math.inf
    assert grid().figures(np.array([np.nan, np.inf, 1.0])).seen == (0.0, 1.0)
