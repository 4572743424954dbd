import numpy as np
import pytest

from isomorph.core.chance import (
    FALSE_ALARM,
    as_many,
    beyond_another,
    decisive,
    freedom,
    student,
    threshold,
    usual_peak,
)


def test_the_bound_grows_with_the_number_of_elements():
    assert threshold(1) == pytest.approx(4.89, abs=0.01)
    assert threshold(1) < threshold(1000) < threshold(10**6) < 7.5


@pytest.mark.parametrize("samples", [1, 4, 100, 10_000])
def test_half_of_all_peaks_lie_below_the_usual_one(samples):
    draws = np.abs(np.random.default_rng(0).normal(size=(2000, samples))).max(axis=1)
    assert np.mean(draws < usual_peak(samples)) == pytest.approx(0.5, abs=0.05)


def test_the_usual_peak_is_below_what_chance_allows_however_many_there_are():
    for samples in (1, 10**3, 10**6, 10**12):
        assert 0.0 < usual_peak(samples) < threshold(samples)


def test_one_number_comes_near_by_accident_more_often_than_two():
    assert decisive(1) == FALSE_ALARM
    assert decisive(2) == pytest.approx(1e-3)


@pytest.mark.parametrize(("draws", "quantile"), [(20, 7.905), (32, 6.643), (64, 5.838)])
def test_a_deviation_that_few_draws_estimate_needs_a_wider_bound(draws, quantile):
    # Quantiles of Student's distribution for one in ten million, by its tables.
    assert student(5, draws - 1) == pytest.approx(quantile, rel=0.03)
    assert student(5, 10**6) == pytest.approx(threshold(5), rel=1e-3)


@pytest.mark.parametrize(("elements", "least", "most"), [(1, 20, 60), (1000, 15_000, 60_000)])
def test_elements_that_move_by_themselves_are_so_many_more_draws(elements, least, most):
    drawn = np.random.default_rng(2).standard_normal((32, elements))
    assert least < freedom(np.mean(drawn**2, axis=1).tolist()) < most
    as_one = np.repeat(drawn[:, :1], elements, axis=1)
    assert 20 < freedom(np.mean(as_one**2, axis=1).tolist()) < 60


@pytest.mark.parametrize(("many", "of"), [(1, 1), (1, 50), (3, 50), (3, 5)])
def test_how_often_so_many_values_are_beyond_all_of_another_sample(many, of):
    seen, other = np.random.default_rng(0).normal(size=(2, 40_000, of))
    found = np.count_nonzero(seen > other.max(axis=1, keepdims=True), axis=1) >= many
    assert beyond_another(many, of) == pytest.approx(np.mean(found), rel=0.1)
    assert beyond_another(0, of) == 1.0
    assert beyond_another(of + 1, of) == 0.0


@pytest.mark.parametrize(("found", "expected"), [(0, 0.3), (1, 0.3), (2, 0.8), (3, 5.0), (9, 4.0)])
def test_how_often_there_are_as_many_rare_events(found, expected):
    seen = np.random.default_rng(0).poisson(expected, 200_000)
    assert as_many(found, expected) == pytest.approx(np.mean(seen >= found), rel=0.05)


def test_what_is_not_expected_does_not_happen():
    assert as_many(1, 0.0) == 0.0
    assert as_many(60, 1.0) < 1e-60
