"""Variances from few draws: shared among elements that are alike, and among no others."""

import numpy as np
import pytest

from isomorph.core.chance import largest_deficit, student, threshold
from isomorph.measure.moderated_variance import digamma, inverse_trigamma, moderated, trigamma

DRAWS = 10


def estimated(sigma, seed=0, draws=DRAWS):
    random = np.random.default_rng(seed)
    steps = sigma * random.standard_normal((draws, *np.shape(sigma)))
    return np.mean(np.square(steps), axis=0)


def test_alike_elements_share_their_draws():
    sigma = np.full((2, 500), 0.25)
    found = moderated(estimated(sigma), np.ones_like(sigma), DRAWS)
    assert found.freedom > 20 * DRAWS
    assert np.max(np.abs(found.deviation / sigma - 1.0)) < 0.15


def test_alike_in_units_of_their_size_is_alike():
    size = np.where(np.arange(400) % 2, 1.0, 1e8).reshape(1, 400)
    found = moderated(estimated(1e-7 * size), size, DRAWS)
    assert found.freedom > 10 * DRAWS
    assert np.max(np.abs(found.deviation / (1e-7 * size) - 1.0)) < 0.2


def test_unlike_elements_stand_alone():
    sigma = 10.0 ** np.random.default_rng(3).uniform(-6, 6, (1, 300))
    variance = estimated(sigma)
    found = moderated(variance, np.ones_like(sigma), DRAWS)
    assert found.freedom < 1.3 * DRAWS
    raised = found.deviation**2 / variance
    assert np.max(raised) <= largest_deficit(DRAWS, 300) * (1.0 + 1e-9)
    assert np.median(raised) < 1.5


def test_what_no_draw_moved_has_no_deviation():
    sigma = np.ones((1, 50))
    sigma[0, 7] = 0.0
    assert moderated(estimated(sigma), np.ones_like(sigma), DRAWS).deviation[0, 7] == 0.0


@pytest.mark.parametrize("spread", [0.0, 1.0, 4.0])
def test_the_threshold_keeps_its_promise(spread):
    """Of tensors whose elements differ more or less in variance, few exceed it."""
    chance, alarms, tries = 0.02, 0, 400
    random = np.random.default_rng(11)
    for _ in range(tries):
        sigma = np.exp(spread * random.standard_normal((1, 40)))
        found = moderated(estimated(sigma, int(random.integers(2**31))), np.ones_like(sigma), DRAWS)
        error = np.abs(sigma * random.standard_normal(sigma.shape))
        alarms += bool(np.any(error > student(40, found.freedom, chance) * found.deviation))
    assert alarms / tries <= 2.5 * chance
    assert student(40, 1e9, chance) == pytest.approx(threshold(40, chance), rel=1e-3)


def test_gamma_functions():
    assert digamma(1.0) == pytest.approx(-0.5772156649, abs=1e-8)
    assert trigamma(1.0) == pytest.approx(np.pi**2 / 6, abs=1e-9)
    for x in (0.05, 0.7, 3.0, 40.0):
        assert inverse_trigamma(trigamma(x)) == pytest.approx(x, rel=1e-6)
    assert inverse_trigamma(-1.0) == np.inf


@pytest.mark.parametrize(
    ("freedom", "both_tails", "quantile"),
    [
        (1, 0.1, 6.313751515),
        (3, 1e-6, 130.1545896),
        (10, 1e-12, 43.4569045),
        (30, 1e-6, 6.11907562),
    ],
)
def test_students_quantile(freedom, both_tails, quantile):
    assert student(1, freedom, both_tails) == pytest.approx(quantile, rel=1e-8)
