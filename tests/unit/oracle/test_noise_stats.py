"""How far noise moves tensors, summed up draw by draw."""

import numpy as np
import pytest

from isomorph.core.trace import Noise
from isomorph.oracle.fingerprint import fingerprint
from isomorph.oracle.noise_stats import Moving, disturbed

RNG = np.random.default_rng(3)


def _statistics(value, draws, **how):
    moving = Moving({"t": value}, **how)
    for draw in draws:
        moving.add("t", draw)
    return moving.statistics(len(draws))["t"]


@pytest.mark.parametrize("about_mean", [False, True])
def test_sums_are_those_of_all_draws_together(about_mean):
    value = RNG.normal(size=(3, 5))
    draws = [value + 0.1 + 1e-3 * RNG.normal(size=value.shape) for _ in range(4)]
    center = np.mean(draws, axis=0) if about_mean else value
    steps = np.array(draws) - center
    moved = _statistics(value, draws, about_mean=about_mean)
    assert moved.rms == pytest.approx(np.sqrt(np.mean(np.square(steps))))
    assert moved.peak == pytest.approx(np.max(np.abs(steps)))
    assert moved.mark == fingerprint(value)


def test_what_is_not_finite_does_not_move():
    value = np.array([1.0, np.inf, np.nan, 2.0])
    moved = _statistics(value, [value + np.array([0.5, 0, 0, 0.5])])
    assert moved.peak == 0.5
    assert moved.rms == pytest.approx(0.5 / np.sqrt(2))


@pytest.mark.parametrize("draw", [np.zeros(3), None, [np.zeros(4)]])
def test_what_is_no_longer_the_same_tensor_can_be_anything(draw):
    assert _statistics(np.zeros(4), [np.zeros(4), draw]).rms == np.inf


def test_a_draw_in_which_a_tensor_is_missing_is_not_a_quiet_one():
    moving = Moving({"t": np.zeros(4)})
    moving.add("t", np.zeros(4))
    assert moving.statistics(2)["t"].rms == np.inf


def test_the_noise_of_scores_is_reported_beside_that_of_a_mask():
    mask = np.array([-1e9] * 6 + [1.0, 2.0, 3.0, 4.0])
    noise = np.array([50.0] * 6 + [1e-7] * 4)
    moved = _statistics(mask, [mask + noise, mask - noise])
    limit, rms, peak = moved.unseen
    assert moved.rms > limit / 2 > 4.0
    assert rms == pytest.approx(1e-7, rel=1e-3)
    assert peak == pytest.approx(1e-7, rel=1e-3)


def test_scores_beside_a_mask_are_compared_by_themselves_without_any_draw():
    masked = np.array([np.finfo(np.float32).min] * 6 + [1.0, 2.0, 3.0, 4.0])
    limit, rms, peak = _statistics(masked, []).unseen
    assert (limit > 4.0, rms, peak) == (True, 0.0, 0.0)
    assert _statistics(np.array([0.0, 0.0, 0.0, 5.0]), []).unseen is None, "zeros are seen"


class Session:
    """Two tensors, moved by noise."""

    def run(self, feeds, fetch, *, noise=None):
        size = 0.0 if noise is None else 1e-7 * np.random.default_rng(noise.seed).normal()
        return {name: np.sin(feeds["x"]) + size for name in fetch}


def test_values_are_kept_as_asked_and_draws_are_not_kept():
    session, kept = Session(), []
    found = disturbed(
        session, {"x": np.ones((4, 6))}, ["a", "b"],
        [Noise(seed=n, rounding=True) for n in range(3)],
        lambda name, value: kept.append(name) or value,
    )  # fmt: skip
    assert kept == ["a", "b"] == list(found.values)
    assert 0 < found.moved["a"].rms < 1e-6
    assert set(found.moved) == {"a", "b"}
    assert list(found.draws) == [{}, {}, {}]


def test_draws_of_outputs_are_returned_as_they_were():
    session, feeds = Session(), {"x": np.ones((4, 6))}
    noises = [Noise(seed=n, rounding=True) for n in range(3)]
    found = disturbed(session, feeds, ["a", "b"], noises, draws_of=["b"])
    assert [list(each) for each in found.draws] == [["b"]] * 3
    for noise, drawn in zip(noises, found.draws, strict=True):
        np.testing.assert_array_equal(drawn["b"], session.run(feeds, ["b"], noise=noise)["b"])
