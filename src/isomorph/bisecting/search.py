"""Bisection over points in a fixed order, some of which may have no verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from isomorph.core.bisection import SearchOutcome, Trial, TrialStatus
from isomorph.core.bisection_limits import POINTS_AT_AN_END
from isomorph.core.divergence import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What was tried, and between which neighbors the verdict changes."""

    outcome: SearchOutcome
    trials: tuple[Trial, ...]
    before: str = ""
    after: str = ""
    without_verdict: tuple[str, ...] = ()


def first_change(points: Sequence[str], judge: Callable[[str], Trial]) -> Search:
    """The first point whose verdict is not that of the first one, by halving.

    Both ends are judged before anything else. A point without a verdict says nothing, and a
    neighbor takes its place. ``unknown`` is no verdict either, unless it is the last point's: a
    release that fails where the first did not is what is searched for.
    """
    tried: dict[int, Trial] = {}

    def verdict(place: int) -> str | None:
        if place not in tried:
            tried[place] = judge(points[place])
        trial = tried[place]
        judged = trial.status is TrialStatus.JUDGED
        return trial.verdict if judged else None

    def decided(place: int) -> str | None:
        found = verdict(place)
        return None if found == Verdict.UNKNOWN else found

    def search(outcome: SearchOutcome, before: int | None = None, after: int | None = None,
               silent: Sequence[int] = ()) -> Search:  # fmt: skip
        return Search(
            outcome=outcome,
            trials=tuple(tried.values()),
            before="" if before is None else points[before],
            after="" if after is None else points[after],
            without_verdict=tuple(points[place] for place in silent),
        )

    low = _first(range(len(points))[:POINTS_AT_AN_END], decided)
    if low is not None and len(points) == 1:
        return search(SearchOutcome.ENDS_AGREE, low, low)
    last = range(len(points))[: -POINTS_AT_AN_END - 1 : -1]
    high = None if low is None else _first([each for each in last if each > low], verdict)
    if low is None or high is None:
        return search(SearchOutcome.UNDECIDED)
    answer = verdict if verdict(high) == Verdict.UNKNOWN else decided
    if answer(low) == answer(high):
        return search(SearchOutcome.ENDS_AGREE, low, high)
    while True:
        silent = [each for each in range(low + 1, high) if each in tried]
        left = [each for each in range(low + 1, high) if each not in tried]
        if not left:
            return search(SearchOutcome.FOUND, low, high, silent)
        middle = (low + high) // 2
        place = min(left, key=lambda each: abs(each - middle))
        found = answer(place)
        if found is None:
            continue
        if found == answer(low):
            low = place
        else:
            high = place


def _first(places: Sequence[int], answer: Callable[[int], str | None]) -> int | None:
    return next((each for each in places if answer(each) is not None), None)
