"""A seeded search for an input that makes a number as large as possible.

It needs values alone, no gradients: each round changes shares of the best input so far, and tries
single elements at the ends of their ranges; what helps singly is then applied together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.protocols import Differentiates
from isomorph.core.search_limits import SEARCH_CHILDREN, SEARCH_ROUNDS, STALLED_ROUNDS

if TYPE_CHECKING:
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Array
    from isomorph.inputs.input_space import InputSpace

Feeds = Mapping[str, "Array"]
Evaluate = Callable[[Sequence[Feeds]], Sequence[float]]
"""Returns the number for each input; NaN or −inf for one that counts for nothing."""

_STEPS = (1.0, 0.1, 0.01)
"""Steps along the sign of a gradient, as shares of the range of an input."""
_SHARES = (1.0, 0.5, 0.25, 0.1, 0.03)
"""Shares of the elements that one change draws anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extreme:
    """The best input, its number, and how many inputs were evaluated."""

    feeds: Feeds
    value: float
    evaluations: int


def search(
    space: InputSpace,
    start: Sequence[tuple[Feeds, float]],
    evaluate: Evaluate,
    random: np.random.Generator,
    *,
    enough: float = np.inf,
    propose: Callable[[Feeds], Sequence[Feeds]] | None = None,
) -> Extreme:
    """Search from inputs whose numbers are known until one reaches ``enough``.

    ``propose`` may supply inputs that are likely to be better, such as a step along a gradient.
    """
    best, value = max(start, key=lambda each: _rank(each[1]))
    spent, stalled = 0, 0
    for turn in range(SEARCH_ROUNDS):
        if value >= enough or stalled >= STALLED_ROUNDS:
            break
        tried = list(propose(best)) if propose is not None else []
        tried += list(_children(space, best, random, turn))
        found = list(evaluate(tried))
        spent += len(tried)
        if turn % 2:
            joined = _joined(best, value, tried, found)
            tried.append(joined)
            found += evaluate([joined])
            spent += 1
        place = max(range(len(found)), key=lambda at: _rank(found[at]))
        stalled = 0 if _rank(found[place]) > _rank(value) else stalled + 1
        if stalled == 0:
            best, value = tried[place], found[place]
    return Extreme(feeds=best, value=value, evaluations=spent)


def steps_along(
    space: InputSpace, best: Feeds, slopes: Mapping[str, Array], signs: Sequence[float]
) -> list[Feeds]:
    """Inputs at several steps along the sign of a gradient, within their ranges."""
    proposed: list[Feeds] = []
    for share, sign in product(_STEPS, signs):
        moved = {name: np.asarray(value) for name, value in best.items()}
        for each in space.variables:
            if not each.whole and each.name in slopes:
                step = sign * share * (each.upper - each.lower)
                value = np.asarray(best[each.name], np.float64)
                moved[each.name] = each.typed(value + step * np.sign(slopes[each.name]))
        proposed.append(moved)
    return proposed


def differentiable(session: Session) -> Differentiates | None:
    """The session as what gives gradients; None where it has none."""
    if session.capabilities.gradients and isinstance(session, Differentiates):
        return session
    return None


def _rank(value: float) -> float:
    return -np.inf if np.isnan(value) else value


def _children(
    space: InputSpace, best: Feeds, random: np.random.Generator, turn: int
) -> Iterator[Feeds]:
    """Yield inputs near the best one: alternately many elements at once, and single ones."""
    for child in range(SEARCH_CHILDREN):
        if turn % 2 == 0:
            yield space.changed(best, random, _SHARES[child % len(_SHARES)])
        else:
            yield _with_blocks(space, best, random)


def _with_blocks(space: InputSpace, best: Feeds, random: np.random.Generator) -> Feeds:
    """Change one element, or all along an axis, of one input to one value."""
    free = [each for each in space.variables if each.lower < each.upper and np.prod(each.shape)]
    if not free:
        return best
    variable = free[int(random.integers(len(free)))]
    value = np.array(best[variable.name])
    place = [int(random.integers(size)) for size in variable.shape]
    where: list[int | slice] = list(place)
    for axis in range(len(where)):
        if random.random() < 0.3:
            where[axis] = slice(None)
    ends = (variable.lower, variable.upper)
    chosen = ends[int(random.integers(2))] if random.random() < 0.5 or not variable.whole else (
        random.uniform(*ends)
    )  # fmt: skip
    value[tuple(where)] = chosen
    return {**best, variable.name: variable.typed(value)}


def _joined(best: Feeds, value: float, tried: Sequence[Feeds], found: Sequence[float]) -> Feeds:
    """All changes that were better than the best input, applied together."""
    joined = {name: np.array(array) for name, array in best.items()}
    for feeds, number in sorted(zip(tried, found, strict=True), key=lambda each: _rank(each[1])):
        if _rank(number) > _rank(value):
            for name, array in feeds.items():
                changed = np.asarray(array != best[name])
                joined[name][changed] = np.asarray(array)[changed]
    return joined
