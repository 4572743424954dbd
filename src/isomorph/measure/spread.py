"""The spread of a tensor under Monte-Carlo arithmetic, and the precision of its estimate."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.chance import (
    FALSE_ALARM,
    largest_deficit,
    largest_excess,
    student,
    threshold,
)
from isomorph.core.errors import IsomorphError
from isomorph.oracle.noise import unit_roundoff

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.measure.reached_values import Reached

_FLOAT64_SHARE = unit_roundoff("float64") / unit_roundoff("float32")
"""Two float64 oracles of one function differ by their own rounding: this share of float32's."""

__all__ = ["FALSE_ALARM", "Spread", "merged", "student", "threshold"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The spread of one tensor over its draws.

    ``deviation`` is the standard deviation per element of a float tensor, estimated with
    ``freedom`` degrees of freedom; zero where no draw moved it. ``unsettled`` marks elements whose
    kind (NaN, infinite, finite) or, for strings, whose value differed between draws: either is
    accepted there. ``reached`` holds the draws of each side whose elements may jump: only the
    reached values are accepted, and nothing between or beyond. A ``lower_bound`` is the spread of a
    part of the noise.
    """

    draws: int
    deviation: Array | None
    unsettled: Array
    freedom: float = math.inf
    reached: tuple[Reached, ...] = ()
    lower_bound: bool = False


def comfortable(
    draws: int,
    elements: int,
    freedom: float = math.inf,
    false_alarm: float = FALSE_ALARM,
    *,
    mistake: float | None = None,
) -> float:
    """Return the share of a budget from few draws that is certainly within that of many.

    Few draws overestimate a variance at most by the upper quantile of chi-square, at the chance of
    a ``mistake`` (that of a false alarm, unless given); the part shared by neighbors, as a single
    one would. Which elements are beyond the budget of many draws does not depend on the few. To be
    taken for within, every one of them must be overestimated, and that is no likelier than for any
    one of them: their number does not count. Few draws also widen the threshold.
    """
    excess = largest_excess(draws, 1, false_alarm if mistake is None else mistake)
    limit = threshold(elements, false_alarm) / student(elements, freedom, false_alarm)
    return float(limit / math.sqrt(excess))


def hopeless(
    draws: int, elements: int, freedom: float = math.inf, false_alarm: float = FALSE_ALARM
) -> float:
    """Return the multiple of a budget from few draws that is certainly beyond that of many.

    If neighbors all moved together, their draws are worth no more than one element's: the error is
    beyond what these alone, with Student's threshold for so few, would allow. Where the threshold
    does not depend on draws, they underestimate a variance at most by the lower quantile of
    chi-square, which is bounded by the first term of its series.
    """
    if math.isinf(freedom):
        return math.sqrt(largest_deficit(draws, 1, false_alarm))
    alone = student(elements, draws, false_alarm)
    return alone / student(elements, max(freedom, draws), false_alarm)


def of_float64(rounding: Spread | None) -> Spread | None:
    """Return how far float64 itself rounds, by how far float32 does; None where nothing rounds."""
    if rounding is None or rounding.deviation is None:
        return None
    return Spread(
        draws=rounding.draws,
        deviation=_FLOAT64_SHARE * rounding.deviation,
        unsettled=np.zeros(rounding.deviation.shape, bool),
        freedom=rounding.freedom,
        lower_bound=rounding.lower_bound,
    )


def merged(*spreads: Spread | None) -> Spread | None:
    """Combine independent spreads; None where one of them is missing."""
    present = [each for each in spreads if each is not None]
    if len(present) != len(spreads) or not present:
        return None
    if any(math.isinf(each.freedom) for each in present):
        present = [_as_known(each) for each in present]
    deviations = [each.deviation for each in present if each.deviation is not None]
    return Spread(
        draws=_draws_together(present),
        deviation=np.sqrt(sum(np.square(each) for each in deviations)) if deviations else None,
        unsettled=np.logical_or.reduce([each.unsettled for each in present]),
        freedom=_freedom_together([each for each in present if each.deviation is not None]),
        reached=tuple(side for each in present for side in each.reached),
        lower_bound=any(each.lower_bound for each in present),
    )


def _as_known(spread: Spread) -> Spread:
    """Widen deviations from few draws so that the threshold of known deviations applies."""
    if spread.deviation is None or math.isinf(spread.freedom):
        return spread
    elements = spread.deviation.size
    wider = student(elements, spread.freedom) / threshold(elements)
    return replace(spread, deviation=wider * spread.deviation, freedom=math.inf)


def _draws_together(spreads: Sequence[Spread]) -> int:
    """Return the least number of draws that the summed variances are worth.

    The error of a sum is at most the sum of the errors, whether the draws are independent or not:
    few draws of a variance that hardly contributes leave hardly any doubt.
    """
    least, most = (choice(each.draws for each in spreads) for choice in (min, max))
    if least in {most, 0} or any(each.deviation is None for each in spreads):
        return least
    variances = [np.square(each.deviation) for each in spreads if each.deviation is not None]
    total = np.asarray(sum(variances))
    doubt = sum(v / math.sqrt(each.draws) for v, each in zip(variances, spreads, strict=True))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        worth = np.square(total / doubt)
    known = (total > 0) & np.isfinite(worth)
    # Rounding errors of the division make no draw less.
    found = math.floor(float(np.min(worth, initial=most, where=known)) * (1.0 + 2.0**-40))
    return max(found, least)


def _freedom_together(spreads: Sequence[Spread]) -> float:
    """Return the least degrees of freedom of summed variances, by Welch and Satterthwaite.

    A variance that hardly contributes to the sum may be known imprecisely.
    """
    if not spreads or all(math.isinf(each.freedom) for each in spreads):
        return math.inf
    variances = [np.square(each.deviation) for each in spreads if each.deviation is not None]
    total = np.asarray(sum(variances))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        doubt = sum(v**2 / each.freedom for v, each in zip(variances, spreads, strict=True))
        together = np.square(total) / doubt
    least = min(each.freedom for each in spreads)
    found = float(np.min(together, initial=math.inf, where=(total > 0) & np.isfinite(together)))
    return least if math.isinf(found) else max(found, least)


def finite_where(
    spreads: Mapping[str, Spread], rounding: Callable[[], Mapping[str, Spread] | IsomorphError]
) -> Mapping[str, Spread]:
    """Mark no more elements of float tensors as unsettled than rounding does.

    ``rounding`` is only asked for where an element is unsettled at all.
    """
    if not any(each.deviation is not None and each.unsettled.any() for each in spreads.values()):
        return spreads
    rounded = rounding()
    if isinstance(rounded, IsomorphError):
        return spreads
    return {name: _as_finite(each, rounded.get(name)) for name, each in spreads.items()}


def _as_finite(spread: Spread, rounding: Spread | None) -> Spread:
    """Mark no more elements of a float tensor as unsettled than rounding does."""
    if spread.deviation is None or rounding is None:
        return spread
    return replace(spread, unsettled=spread.unsettled & rounding.unsettled)
