"""Noise that rounds equal results of an elementwise operation alike."""

import numpy as np
import pytest

from isomorph.core.trace import Noise
from isomorph.oracle.noise import Rounding
from isomorph.oracle.tied_noise import TiedRounding, rounding_of

UNIT = 2.0**-24


def source(seed=1, site="node", **options):
    made = TiedRounding(seed, **options)
    made.enter(site, UNIT)
    return made


@pytest.mark.parametrize("shape", [(4000,), (40, 100), (300_000,)], ids=str)
def test_equal_results_are_moved_alike(shape):
    values = np.random.default_rng(0).choice(np.array([0.1, 0.2, 0.3]), shape)
    moved = source().rounded(values)
    assert [np.unique(moved[values == each]).size for each in (0.1, 0.2, 0.3)] == [1, 1, 1]
    assert np.all(moved != values)


def test_different_results_are_moved_as_by_rounding():
    values = np.linspace(1.0, 2.0, 100_001)[1:-1]
    steps = (source().rounded(values) - values) / (UNIT * values)
    assert abs(np.mean(steps)) < 0.02
    assert np.std(steps) == pytest.approx(1.0, abs=0.02)
    assert abs(np.corrcoef(steps[:-1], steps[1:])[0, 1]) < 0.02


def test_noise_differs_between_draws_nodes_and_steps():
    value = np.array([0.1])
    twice = source()
    drawn = [
        twice.rounded(value), twice.rounded(value), source(seed=2).rounded(value),
        source(site="other").rounded(value),
    ]  # fmt: skip
    assert len({float(each[0]) for each in drawn}) == 4
    assert source().rounded(value) == source().rounded(value)


def test_sums_are_moved_one_by_one():
    values = np.full(100, 0.1)
    moved = source().reduced(values, lambda: np.ones(100), 8)
    assert np.unique(moved).size > 90


def test_results_that_float32_has_are_moved_one_by_one():
    """They may be saturated: the sigmoid of 40 is 1."""
    moved = source().rounded(np.ones(100), 1.0)
    assert np.unique(moved).size > 90


def test_a_draw_asks_for_ties():
    assert type(rounding_of(Noise(seed=1, rounding=True, tied=True), {})) is TiedRounding
    assert type(rounding_of(Noise(seed=1, rounding=True), {})) is Rounding
    assert rounding_of(Noise(seed=1, scale=4.0, tied=True), {}).scale == 4.0
