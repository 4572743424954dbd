"""Noise is drawn piece by piece, and no number depends on where the pieces end."""

from __future__ import annotations

import numpy as np
import pytest

from isomorph.core.threads import use_threads
from isomorph.oracle import noise
from isomorph.oracle.magnitudes import KeptSizes


@pytest.fixture(autouse=True)
def _one_thread():
    yield
    use_threads(1)


@pytest.mark.parametrize(
    ("piece", "part", "threads"),
    [(1 << 6, 1 << 20, 1), (1 << 20, 1 << 21, 1), (1 << 4, 1 << 6, 1), (1 << 4, 1 << 6, 4)],
)
def test_noise_is_the_same_however_it_is_cut_into_pieces(piece, part, threads, monkeypatch):
    random = np.random.default_rng(0)
    y, sizes = random.normal(size=(3, 5, 77)), np.abs(random.normal(size=(3, 5, 77)))
    y[0, 0, :2], sizes[1, 1, 1] = (np.nan, np.inf), np.inf

    def disturbed() -> list[np.ndarray]:
        source = noise.Rounding(7)
        source.enter("here", 2.0**-24)
        sums = source.reduced(y, lambda: sizes, 9)
        counted = source.reduced(np.rint(y), lambda: np.rint(sizes), 9)
        return [sums, counted, source.rounded(y), source.rounded(y, sizes), source.rounded(y, 2.0)]

    expected = disturbed()
    monkeypatch.setattr(noise, "PIECE", piece)
    monkeypatch.setattr(noise, "_PART", part)
    use_threads(threads)
    for one, other in zip(disturbed(), expected, strict=True):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(np.isfinite(one), np.isfinite(y))
    assert not np.array_equal(expected[0], y, equal_nan=True)


def test_what_lies_in_another_order_is_disturbed_alike():
    y = np.random.default_rng(0).normal(size=(40, 30))
    sources = [noise.Rounding(7), noise.Rounding(7)]
    for source in sources:
        source.enter("here", 2.0**-24)
    plain, turned = (
        source.rounded(each, 1.0)
        for source, each in zip(sources, (y, np.asfortranarray(y)), strict=True)
    )
    np.testing.assert_array_equal(plain, turned)


def test_draws_side_by_side_keep_no_more_sizes_than_one():
    kept, y = KeptSizes(), np.full(100, 0.3)
    sources = [noise.Rounding(seed, cache=kept, cache_bytes=1000) for seed in range(3)]
    for site in range(5):
        for source in sources:
            source.enter(site, 2.0**-24)
            source.reduced(y, lambda: np.ones(100), 10)
    assert kept.held == sum(each.nbytes for each in kept.values()) == 800
