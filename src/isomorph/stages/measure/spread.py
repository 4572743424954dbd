"""The spread of a tensor under Monte-Carlo arithmetic; the threshold is a matter of chance."""

from __future__ import annotations

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """What the draws did to one tensor.

    ``deviation`` is the standard deviation per element, pooled with its channel's (floats).
    ``unsettled`` marks the elements whose kind (NaN, infinite, finite) or, for integers and
    strings, whose very value was not the same in every draw: either is accepted there.
    ``reach`` is how far integers went at most, so that a quantised output which the noise moves
    by a step is not free to be any number.
    """

    draws: int
    deviation: Array | None
    unsettled: Array
    reach: Array | None = None


def spreads(
    session: Session,
    feeds: Arrays,
    centre: Arrays,
    noise: Noise,
    *,
    draws: int = DRAWS,
    about_mean: bool = False,
    drawn: Callable[[int], None] | None = None,
) -> Mapping[str, Spread]:
    """Run the oracle ``draws`` times under ``noise``: what moved, at the tensors of ``centre``.

    Deviations are taken about the oracle's own value, or about the mean of the draws where the
    undisturbed value is itself under suspicion (the quantisers of a candidate).
    """
    flat = {key: value for name in centre for key, value in flatten(name, centre[name]).items()}
    sums = {key: _Moments(np.asarray(value)) for key, value in flat.items() if value is not None}
    for draw in range(draws):
        result = session.run(
            feeds, list(centre), noise=replace(noise, seed=noise.seed * 1_000_003 + draw)
        )
        moved = {
            key: value for name in result for key, value in flatten(name, result[name]).items()
        }
        for key, moments in sums.items():
            moments.add(moved.get(key))
        if drawn is not None:
            drawn(draw + 1)
    return {key: moments.spread(draws, about_mean=about_mean) for key, moments in sums.items()}


class _Moments:
    """First and second moments about the centre, so that ten traces need not be kept."""

    def __init__(self, centre: Array) -> None:
        self.centre = centre
        self.inexact = is_inexact(centre)
        self.unsettled = np.zeros(centre.shape, bool)
        self.first = np.zeros(centre.shape) if self.inexact else None
        self.second = np.zeros(centre.shape) if self.inexact else None
        self.reach = np.zeros(centre.shape) if is_integer(centre) else None

    def add(self, value: object) -> None:
        array = np.asarray(value)
        if value is None or array.shape != self.centre.shape:
            # Under noise even the shape changed: nothing about this tensor is settled.
            self.unsettled[...] = True
            self.reach = None
            return
        if self.first is None or self.second is None:
            self.unsettled |= np.asarray(array != self.centre)
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
            return Spread(draws=draws, deviation=None, unsettled=self.unsettled, reach=self.reach)
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
    )
