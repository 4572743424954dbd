"""Errors and allowances in blocks are those of whole arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isomorph.measure import element_errors
from isomorph.measure.element_errors import Allowance, error_ratios, stored_rounding, totals

SPECIAL = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-40, 3.4e38, 1.0])


def allowance_of(deviation: np.ndarray, unsettled: np.ndarray, **options: bool) -> Allowance:
    return Allowance(
        deviation=deviation, times=5.0, unsettled=unsettled, dtype="float32", **options
    )


@given(
    seed=st.integers(0, 10**6),
    elements=st.integers(0, 3000),
    special=st.booleans(),
    stored=st.booleans(),
    flushed=st.booleans(),
)
def test_blocks_give_what_the_whole_arrays_give(seed, elements, special, stored, flushed):
    random = np.random.default_rng(seed)
    expected = random.standard_normal((elements, 2))
    actual = expected * (1.0 + 1e-6 * random.standard_normal(expected.shape))
    if special and elements:
        places = random.integers(0, expected.size, (2, 20))
        actual.flat[places[0]] = random.choice(SPECIAL, 20)
        expected.flat[places[1]] = random.choice(SPECIAL, 20)
    deviation = np.where(random.random(expected.shape) < 0.1, 0.0, 1e-7)
    unsettled = random.random(expected.shape) < 0.1
    allowance = allowance_of(deviation, unsettled, stored=stored, flushed=flushed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(element_errors, "_BLOCK", 64)
        found = totals(actual, expected, allowance)
    allowed = allowance.each(actual, expected)
    each = error_ratios(actual, expected, allowed, unsettled)
    with np.errstate(all="ignore"):
        finite = np.isfinite(actual - expected)
        sizes = np.maximum(np.abs(actual), np.abs(expected))
    assert found.ratio == np.max(each, initial=0.0)
    assert found.finite_ratio == np.max(each, initial=0.0, where=np.isfinite(each))
    assert found.allowed == np.max(allowed, initial=0.0)
    assert found.allowed_squares == pytest.approx(np.sum(np.square(allowed)))
    assert found.value == np.max(sizes, initial=0.0, where=finite)


def test_the_one_element_that_is_off_is_found_in_the_last_block():
    expected = np.ones(1_000_003)
    actual = expected.copy()
    actual[-1] += 1.0
    deviation, settled = np.full(expected.shape, 0.01), np.zeros(expected.shape, bool)
    found = totals(actual, expected, allowance_of(deviation, settled, stored=False))
    assert found.ratio == pytest.approx(20.0)
    assert found.allowed_squares == pytest.approx(expected.size * 0.05**2)


def test_underflow_excuses_what_is_zero_on_one_side_alone():
    small = np.array([3e-5, 3e-5, 0.0])
    smallest = float(np.finfo(np.float16).smallest_normal)
    allowed = stored_rounding(np.array([2e-5, 0.0, 0.0]), small, "float16")
    assert allowed[0] < 1e-7
    assert allowed[1] == smallest
    # Two results of float64 have flushed nothing.
    meant = stored_rounding(np.array([0.0, 3e-5, 0.0]), small, "float16", flushed=False)
    assert meant.max() < 1e-7


def test_a_single_number_without_axes_is_rounded_like_any_other():
    zero, small = np.zeros(()), np.asarray(1e-40)
    smallest = float(np.finfo(np.float32).smallest_normal)
    assert stored_rounding(zero, small, "float32") == smallest
    assert stored_rounding(np.ones(()), np.ones(()), "float32") == 2.0**-24
    allowance = allowance_of(np.zeros(()), np.zeros((), bool))
    assert totals(np.ones(()), np.asarray(2.0), allowance).ratio > 1.0
