"""Draws until there are enough, of either width, each with a seed of its own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from isomorph.core.stated_numbers import WIDER
from isomorph.core.trace import Noise
from isomorph.measure import noise_draws
from isomorph.measure.moments import Moments
from isomorph.measure.noise_draws import NoiseDraws
from isomorph.oracle.draw_accumulator import DrawAccumulator

CENTER = {"y": np.zeros(3), "none": None, "list": [np.ones(2), np.ones(1)]}


class Drawn:
    """Moves every tensor by its noise, and remembers seed and width."""

    def __init__(self):
        self.noises = []

    def run(self, feeds, fetch, *, noise):
        self.noises.append((noise.seed, noise.scale))
        step = noise.scale * np.random.default_rng(noise.seed).standard_normal()
        moved = {"y": CENTER["y"] + step, "none": None, "list": [x + step for x in CENTER["list"]]}
        return {name: moved[name] for name in fetch}


def test_draws_go_on_where_they_ended_and_either_width_counts_by_itself():
    session, drawing, seen = Drawn(), NoiseDraws(CENTER, Noise(seed=5, rounding=True)), []
    drawing.draw_until(3, session, {}, on_progress=seen.append)
    drawing.draw_until(2, session, {}, wide=True, on_progress=seen.append)
    drawing.draw_until(5, session, {}, on_progress=seen.append)
    drawing.draw_until(5, session, {})
    assert seen == [1, 2, 3, 1, 2, 4, 5]
    assert [scale for _, scale in session.noises] == [1.0] * 3 + [WIDER] * 2 + [1.0] * 2
    assert len({seed for seed, _ in session.noises}) == 7


def test_further_draws_give_what_all_at_once_do():
    noise = Noise(seed=1, rounding=True)
    piecewise, whole = NoiseDraws(CENTER, noise), NoiseDraws(CENTER, noise)
    for draws in (1, 2, 6):
        piecewise.draw_until(draws, Drawn(), {})
    whole.draw_until(6, Drawn(), {})
    one, two = piecewise.spreads(), whole.spreads()
    assert set(one) == {"y", "list[0]", "list[1]"}
    for name in one:
        np.testing.assert_array_equal(one[name].deviation, two[name].deviation)
        assert one[name].draws == 6


class DrawnTogether(Drawn):
    """Computes several draws with one call."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def run_many(self, requests):
        self.calls.append(len(requests))
        return [self.run(each.feeds, each.fetch, noise=each.noise) for each in requests]


def test_draws_are_asked_for_together_where_the_session_can_and_their_results_fit(monkeypatch):
    noise, session = Noise(seed=1, rounding=True), DrawnTogether()
    together, single = NoiseDraws(CENTER, noise), NoiseDraws(CENTER, noise)
    for draws in (3, 10):
        together.draw_until(draws, session, {})
        single.draw_until(draws, Drawn(), {})
    assert session.calls == [3, 5, 2]
    np.testing.assert_array_equal(
        together.spreads()["y"].deviation, single.spreads()["y"].deviation
    )
    monkeypatch.setattr(noise_draws, "BATCH_BYTES", 2 * sum(8 * size for size in (3, 2, 1)))
    NoiseDraws(CENTER, noise).draw_until(3, session, {})
    assert session.calls[3:] == [2]
    assert len(session.noises) == 13


def test_wider_draws_do_not_change_what_plain_ones_moved():
    noise = Noise(seed=1, rounding=True)
    plain, both = NoiseDraws(CENTER, noise), NoiseDraws(CENTER, noise)
    for drawing in (plain, both):
        drawing.draw_until(4, Drawn(), {})
    both.draw_until(4, Drawn(), {}, wide=True)
    one, two = plain.spreads()["y"], both.spreads()["y"]
    np.testing.assert_array_equal(one.deviation, two.deviation)
    assert (one.draws, two.draws) == (4, 4)


@given(arrays(np.float64, (6, 4), elements=st.floats(-8.0, 8.0)))
def test_about_the_mean_the_variance_is_that_of_the_draws(rows):
    """Pooled with the neighbors': half of each element's own, half of their mean."""
    center = np.full(4, 3.0)
    drawing = DrawAccumulator(center, Moments(center, about_mean=True))
    for row in rows:
        drawing.add(row)
    own = np.var(rows, axis=0, ddof=1)
    expected = np.sqrt(0.5 * (own + own.mean()))
    np.testing.assert_allclose(drawing.finish().spread(6).deviation, expected, atol=1e-6)


@pytest.mark.parametrize("lost", [None, np.zeros(5)])
def test_a_draw_of_another_shape_settles_nothing(lost):
    drawing = DrawAccumulator(np.zeros(3), Moments(np.zeros(3), jumps=True))
    drawing.add(np.ones(3))
    drawing.add(lost)
    spread = drawing.finish().spread(2)
    assert spread.unsettled.all()
    assert spread.reached == ()


def test_an_element_that_becomes_infinite_is_unsettled_and_no_other():
    center = np.array([1.0, np.inf, np.nan, 2.0])
    drawing = DrawAccumulator(center, Moments(center))
    drawing.add(np.array([1.0, np.inf, np.nan, np.inf]))
    assert drawing.finish().spread(1).unsettled.tolist() == [False, False, False, True]
