"""The spread of a tensor under Monte-Carlo arithmetic; the threshold is a matter of chance."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.trace import Noise, flatten
from isomorph.stages.align.chance import FALSE_ALARM, threshold
from isomorph.stages.measure.distance import is_inexact, is_integer, widen

if TYPE_CHECKING:
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Array, Arrays

__all__ = ["DRAWS", "FALSE_ALARM", "Spread", "merged", "pooled", "spreads", "threshold"]

DRAWS = 10
MANY_DRAWS = 32
"""Where ten leave a loss in doubt: Student's bound is then near to the normal one."""
FIRST_DRAWS = 3
"""Enough where the error lies far inside its budget, however badly so few show the deviation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """What the draws did to one tensor.

    ``deviation`` is the standard deviation per element, pooled with its channel's (floats).
    ``unsettled`` marks the elements whose kind (NaN, infinite, finite) or, for integers and
    strings, whose very value was not the same in every draw: either is accepted there.
    ``reach`` is how far integers went at most, so that a quantised output which the noise moves
    by a step is not free to be any number. ``once`` counts the elements that only one draw moved:
    another one will move some that none of these has.
    """

    draws: int
    deviation: Array | None
    unsettled: Array
    reach: Array | None = None
    once: int = 0


def spreads(
    session: Session,
    feeds: Arrays,
    centre: Arrays,
    noise: Noise,
    *,
    draws: int = DRAWS,
    about_mean: bool = False,
) -> Mapping[str, Spread]:
    """Run the oracle ``draws`` times under ``noise``: what moved, at the tensors of ``centre``."""
    spreading = Spreading(centre, noise, about_mean=about_mean)
    spreading.reach(draws, session, feeds)
    return spreading.spreads()


class Spreading:
    """A spread that more draws can sharpen.

    Deviations are taken about the oracle's own value, or about the mean of the draws where the
    undisturbed value is itself under suspicion (the quantisers of a candidate).
    """

    def __init__(self, centre: Arrays, noise: Noise, *, about_mean: bool = False) -> None:
        flat = {key: value for name in centre for key, value in flatten(name, centre[name]).items()}
        self._names, self._noise, self._about_mean = list(centre), noise, about_mean
        self._drawn = 0
        self._sums = {
            key: _Moments(np.asarray(value)) for key, value in flat.items() if value is not None
        }

    def reach(
        self,
        draws: int,
        session: Session,
        feeds: Arrays,
        told: Callable[[int], None] | None = None,
    ) -> None:
        """Draw until there are so many; those that were drawn before count."""
        for draw in range(self._drawn, draws):
            noise = replace(self._noise, seed=self._noise.seed * 1_000_003 + draw)
            result = session.run(feeds, self._names, noise=noise)
            moved = {
                key: value for name in result for key, value in flatten(name, result[name]).items()
            }
            for key, moments in self._sums.items():
                moments.add(moved.get(key))
            self._drawn = draw + 1
            if told is not None:
                told(self._drawn)

    def spreads(self) -> Mapping[str, Spread]:
        """What the draws so far did to each tensor."""
        return {
            key: moments.spread(self._drawn, about_mean=self._about_mean)
            for key, moments in self._sums.items()
        }


class _Moments:
    """First and second moments about the centre, so that ten traces need not be kept."""

    def __init__(self, centre: Array) -> None:
        self.centre = centre
        self.inexact = is_inexact(centre)
        self.unsettled = np.zeros(centre.shape, bool)
        self.again = np.zeros(centre.shape, bool)
        self.first = np.zeros(centre.shape) if self.inexact else None
        self.second = np.zeros(centre.shape) if self.inexact else None
        self.reach = np.zeros(centre.shape) if is_integer(centre) else None

    def add(self, value: object) -> None:
        array = np.asarray(value)
        if value is None or array.shape != self.centre.shape:
            # Under noise even the shape changed: nothing about this tensor is settled.
            self.unsettled[...] = self.again[...] = True
            self.reach = None
            return
        if self.first is None or self.second is None:
            moved = np.asarray(array != self.centre)
            self.again |= moved & self.unsettled
            self.unsettled |= moved
            if self.reach is not None:
                self.reach = np.maximum(self.reach, np.abs(widen(array) - widen(self.centre)))
            return
        finite = np.isfinite(array) & np.isfinite(self.centre)
        with np.errstate(all="ignore"):
            same = (array == self.centre) | (np.isnan(array) & np.isnan(self.centre))
            step = np.where(finite, widen(array) - widen(self.centre), 0.0)
        self.unsettled |= ~finite & ~same
        size = np.abs(step) if step.dtype.kind == "c" else step
        self.first += size
        self.second += size * size

    def spread(self, draws: int, *, about_mean: bool) -> Spread:
        if self.first is None or self.second is None:
            return Spread(
                draws=draws,
                deviation=None,
                unsettled=self.unsettled,
                reach=self.reach,
                once=int(np.count_nonzero(self.unsettled & ~self.again)),
            )
        variance = self.second / draws
        if about_mean and draws > 1:
            variance = np.maximum(variance - (self.first / draws) ** 2, 0.0) * draws / (draws - 1)
        return Spread(draws=draws, deviation=pooled(variance), unsettled=self.unsettled)


def pooled(variance: Array) -> Array:
    """Standard deviations, each the mean of an element's own variance and its channel's.

    Ten draws estimate a single variance poorly. Its neighbours help: the image of a channel
    for four axes and more, the last axis otherwise.
    """
    if variance.ndim == 0:
        return np.asarray(np.sqrt(variance))
    axes = tuple(range(2, variance.ndim)) if variance.ndim >= 4 else (-1,)
    neighbours = np.mean(variance, axis=axes, keepdims=True) if variance.size else variance
    return np.asarray(np.sqrt(0.5 * (variance + neighbours)))


def comfortable(draws: int, elements: int, false_alarm: float = FALSE_ALARM) -> float:
    """The share of a budget from few draws that is certainly within the budget of many.

    So few draws overestimate a variance at most by the upper quantile of chi-square (here by
    Wilson and Hilferty's formula); half of it is the mean of the channel's, which they do not.
    """
    step = 2.0 / (9.0 * draws)
    largest = (1.0 - step + threshold(elements, false_alarm) * float(np.sqrt(step))) ** 3
    return float(1.0 / np.sqrt(0.5 * (1.0 + largest)))


def hopeless(draws: int, false_alarm: float = FALSE_ALARM) -> float:
    """The multiple of a budget from few draws that is certainly beyond the budget of many.

    So few draws underestimate a variance at most by the lower quantile of chi-square, which is
    bounded by the first term of its series; the elements of a tensor may all do so together.
    """
    freedom = draws / 2.0
    smallest = 2.0 * (false_alarm * math.gamma(freedom + 1.0)) ** (1.0 / freedom)
    return math.sqrt(draws / smallest)


def merged(*spreads: Spread | None) -> Spread | None:
    """Independent disturbances together; None where one of them could not be derived."""
    present = [each for each in spreads if each is not None]
    if len(present) != len(spreads) or not present:
        return None
    deviations = [each.deviation for each in present if each.deviation is not None]
    reaches = [each.reach for each in present if each.reach is not None]
    return Spread(
        draws=min(each.draws for each in present),
        deviation=np.sqrt(sum(np.square(each) for each in deviations)) if deviations else None,
        unsettled=np.logical_or.reduce([each.unsettled for each in present]),
        reach=np.asarray(sum(reaches)) if len(reaches) == len(present) else None,
        once=sum(each.once for each in present),
    )
