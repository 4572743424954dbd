"""Magnitudes of sums are kept as long as the same values are fed."""

from typing import Any

import numpy as np
import pytest

from isomorph.core.threads import use_threads
from isomorph.oracle import magnitudes
from isomorph.oracle.magnitudes import Magnitudes, digest_of

_X = np.arange(6.0, dtype=np.float32)


def test_magnitudes_stay_for_equal_feeds_and_go_with_others() -> None:
    found = Magnitudes()
    kept = found.of({"x": _X})
    kept.keep("site", _X)
    assert (kept["site"] is _X, kept.held) == (True, _X.nbytes)
    assert found.of({"x": _X.copy()}) is kept
    assert found.of({"x": _X + 1}) == {}
    found.clear()
    assert found.of({"x": _X}) is not kept


@pytest.mark.parametrize(
    "other",
    [
        {"y": _X},
        {"x": _X.reshape(2, 3)},
        {"x": _X.view(np.int32)},
        {"x": [_X]},
        {"x": np.array(["a"], object)},
        {"x": None},
    ],
)
def test_names_shapes_types_and_nesting_count(other: dict[str, Any]) -> None:
    assert digest_of({"x": _X}) != digest_of(other)


@pytest.mark.parametrize("threads", [1, 3])
def test_every_number_of_a_large_array_counts(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = np.arange(1000, dtype=np.float64)
    monkeypatch.setattr(magnitudes, "_PIECE", 1 << 10)  # eight pieces
    alone = digest_of({"x": large})
    use_threads(threads)
    try:
        assert digest_of({"x": large}) == alone
        for place in (0, 127, 128, 999):
            other = large.copy()
            other[place] += 1.0
            assert digest_of({"x": other}) != alone
    finally:
        use_threads(1)


def test_every_number_of_a_long_list_counts() -> None:
    long = np.zeros(5000)
    changed = long.copy()
    changed[2500] = 1
    assert digest_of({"x": [long]}) != digest_of({"x": [changed]})


def test_those_of_runs_side_by_side_stay_for_their_next_draws() -> None:
    magnitudes = Magnitudes()
    feeds = [{"x": _X}, {"x": _X + 1}]
    first = magnitudes.of_each(feeds, [1, 1], feeds)
    for each in first:
        each.keep("site", _X)
    again = magnitudes.of_each(feeds, [2, 2], feeds)
    assert all(one is other for one, other in zip(again, first, strict=True))
    assert magnitudes.of_each([{"x": _X + 2}], [1], [{"x": _X + 2}])[0] == {}
    assert magnitudes.of(feeds[0]) == {}


def test_more_than_is_kept_is_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isomorph.oracle.magnitudes.CACHE_BYTES", 1)
    magnitudes = Magnitudes()
    feeds = [{"x": _X}, {"x": _X + 1}]
    magnitudes.of_each(feeds, [1, 1], feeds)[0].keep("site", _X)
    assert magnitudes.of_each(feeds, [1, 1], feeds)[0] == {}
