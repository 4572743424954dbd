import math

import numpy as np
import pytest

from isomorph.core.trace import Capabilities, Environment, Noise
from isomorph.measure.noise_draws import spreads
from isomorph.measure.spread import Spread, comfortable, hopeless, merged, student, threshold


class Noisy:
    """Adds noise of a known size to a tensor, and flips an integer now and then."""

    capabilities = Capabilities(noise=True)
    environment = Environment(runtime="noisy")

    def __init__(self, value, sigma):
        self.value, self.sigma = value, sigma

    def run(self, feeds, fetch, *, noise=None):
        y = self.value.copy()
        index = np.array([3, 4])
        if noise is not None:
            rng = np.random.default_rng(noise.seed)
            y = y + self.sigma * rng.standard_normal(y.shape)
            index = index + np.array([0, rng.integers(0, 2)])
        return {"y": y, "index": index}


def test_spread_recovers_the_deviation_and_marks_what_flips():
    session = Noisy(np.ones((4, 500)), 0.25)
    seen = spreads(session, {}, session.run({}, ["y", "index"]), Noise(seed=1, rounding=True))
    assert np.sqrt(np.mean(seen["y"].deviation ** 2)) == pytest.approx(0.25, rel=0.1)
    assert seen["index"].unsettled.tolist() == [False, True]
    assert seen["index"].deviation is None


def test_equal_seeds_give_equal_spreads():
    session = Noisy(np.ones(10), 0.25)
    center = session.run({}, ["y"])
    one, two = (spreads(session, {}, center, Noise(seed=7, rounding=True)) for _ in range(2))
    assert np.array_equal(one["y"].deviation, two["y"].deviation)


def test_about_the_mean_an_offset_of_the_center_does_not_count():
    session = Noisy(np.ones((1, 400)), 0.1)
    center = {"y": np.ones((1, 400)) + 5.0}
    noise = Noise(seed=0, rounding=True)
    about = spreads(session, {}, center, noise, about_mean=True)["y"].deviation
    plain = spreads(session, {}, center, noise)["y"].deviation
    assert np.mean(about) == pytest.approx(0.1, rel=0.15)
    assert np.mean(plain) > 4.9


def test_threshold_grows_slowly_with_the_number_of_elements():
    assert threshold(1) == pytest.approx(4.89, abs=0.01)
    assert threshold(10**6) < 7.5
    assert threshold(10**9) > threshold(10**6)


def test_merged_is_unknown_where_one_side_is():
    session = Noisy(np.ones(3), 0.1)
    one = spreads(session, {}, session.run({}, ["y"]), Noise(seed=0, rounding=True))["y"]
    assert merged(one, None) is None
    assert np.allclose(merged(one, one).deviation, np.sqrt(2) * one.deviation)


@pytest.mark.parametrize("draws", [2, 3, 4, 10])
def test_a_ratio_beyond_hope_is_never_the_fault_of_few_draws(draws):
    """Elements that all move as one are one number, however many there are."""
    rng, chance, tries = np.random.default_rng(draws), 1e-3, 200_000
    shown = np.sqrt(np.mean(np.square(rng.standard_normal((tries, draws))), axis=1))
    error = np.abs(rng.standard_normal(tries))
    limit = student(1, 1e6, chance) * hopeless(draws, 1, 1e6, chance)
    share = np.mean(error > limit * shown)
    assert share <= 1.2 * chance
    assert share > 0.5 * chance, "and the bound is not idle"
    assert hopeless(draws, 100) > 1.0 > comfortable(draws, 100)
    assert np.mean(1.0 / shown > hopeless(draws, 1, math.inf, chance)) <= 1.2 * chance


def test_few_degrees_of_freedom_count_where_they_matter():
    wide = Spread(draws=10, deviation=np.full(5, 1.0), unsettled=np.zeros(5, bool), freedom=500.0)
    narrow = Spread(draws=10, deviation=np.full(5, 1e-3), unsettled=np.zeros(5, bool), freedom=9.0)
    assert merged(wide, narrow).freedom == pytest.approx(500.0, rel=1e-3)
    alike = Spread(draws=10, deviation=np.full(5, 1.0), unsettled=np.zeros(5, bool), freedom=9.0)
    assert 9.0 < merged(wide, alike).freedom < 40.0


def test_draws_count_where_they_matter():
    def spread(deviation, draws):
        return Spread(
            draws=draws, deviation=np.full(5, deviation), unsettled=np.zeros(5, bool), freedom=9.0
        )

    assert merged(spread(1.0, 10), spread(1e-3, 3)).draws == 9
    assert merged(spread(1.0, 10), spread(1e-9, 3)).draws == 10
    assert merged(spread(1.0, 10), spread(0.0, 3)).draws == 10
    assert merged(spread(1e-9, 10), spread(1.0, 3)).draws == 3
    assert 3 < merged(spread(1.0, 10), spread(1.0, 3)).draws < 7
    assert merged(spread(1.0, 3), spread(1.0, 3)).draws == 3, "both may have drawn the same"


def test_the_doubt_of_summed_variances_is_no_more_than_their_draws_say():
    """Draws that are the same on both sides are worth as many as one side has."""
    rng, tries = np.random.default_rng(0), 100_000
    few, many = 3, 12
    steps = rng.standard_normal((tries, many))
    shown = np.mean(steps[:, :few] ** 2, axis=1) + 4.0 * np.mean(steps**2, axis=1)
    one, two = (
        Spread(draws=n, deviation=np.full(1, d), unsettled=np.zeros(1, bool))
        for n, d in ((few, 1.0), (many, 2.0))
    )
    worth = merged(one, two).draws
    assert few < worth < many
    assert np.var(shown / 5.0) <= 2.0 / worth


@pytest.mark.parametrize("draws", [3, 5, 10])
def test_a_wrong_output_is_as_unlikely_to_be_within_comfortably_as_one_of_its_elements(draws):
    """At a chance that can be counted: the elements that are wrong are fixed before the draws."""
    chance, elements, trials = 0.01, 50, 20_000
    limit = threshold(elements, chance)
    share = comfortable(draws, elements, draws, chance)
    random = np.random.default_rng(draws)
    estimated = np.sqrt(random.chisquare(draws, (trials, elements)) / draws)
    # Every element is a little beyond what many draws would allow.
    ratios = 1.0001 * limit / (student(elements, draws, chance) * estimated)
    passed = np.mean(np.max(ratios[:, :1], axis=1) <= share)
    assert passed <= 1.2 * chance
    assert np.mean(np.max(ratios, axis=1) <= share) <= passed
