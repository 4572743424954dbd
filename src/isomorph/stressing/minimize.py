"""Set as many elements of an input back as possible while its number stays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from isomorph.core.trace import Array

Feeds = Mapping[str, "Array"]


def changed_elements(feeds: Feeds, start: Feeds) -> int:
    """How many elements of an input are neither those of another one nor zero."""
    return sum(
        int(np.count_nonzero((feeds[name] != start[name]) & (np.asarray(feeds[name]) != 0)))
        for name in feeds
    )


def set_back(
    feeds: Feeds, start: Feeds, holds: Callable[[Feeds], bool], trials: int
) -> tuple[Feeds, int]:
    """The input with elements of ``start`` wherever ``holds`` stays true, and the trials made.

    Halves are tried first, then quarters, and so on: those that may be set back stay so.
    """
    best = {name: np.array(value) for name, value in feeds.items()}
    places = [
        (name, int(place))
        for name, value in best.items()
        for place in np.flatnonzero(np.asarray(value != start[name]).reshape(-1))
    ]
    spent, size = 0, len(places)
    while places and size >= 1 and spent < trials:
        kept: list[tuple[str, int]] = []
        for begin in range(0, len(places), size):
            part = places[begin : begin + size]
            if spent >= trials:
                kept += part
                continue
            tried = {name: value.copy() for name, value in best.items()}
            for name, place in part:
                tried[name].reshape(-1)[place] = np.asarray(start[name]).reshape(-1)[place]
            spent += 1
            if holds(tried):
                best = tried
            else:
                kept += part
        if size == 1:
            break
        places, size = kept, max(1, min(size // 2, len(kept)))
    return best, spent
