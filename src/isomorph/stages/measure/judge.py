"""A distance against its budget: is the largest of them explained?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.divergence import Budget, Judgement, Part
from isomorph.stages.align.chance import as_many, usual_peak
from isomorph.stages.measure.distance import distance, float_info, is_inexact, is_integer, widen
from isomorph.stages.measure.spread import Spread, merged, threshold

if TYPE_CHECKING:
    from isomorph.core.trace import Array


def judge(
    actual: Array,
    expected: Array,
    spread: Spread | None,
    *,
    dtype: str,
    derivation: str,
    scale: float = 1.0,
    floor: Array | float = 0.0,
    false_alarm: float,
) -> Part:
    """Measure, and hold every element against ``scale`` · threshold · its deviation + ``floor``.

    ``dtype`` is the declared type of the tensor: where the expected value overflows it, an
    infinity is what a correct run returns; below its smallest normal number, runtimes may flush.
    """
    expected = as_stored(expected, actual, dtype, spread)
    actual = as_stored(actual, expected, dtype, spread)
    measured = distance(actual, expected, dtype=dtype)
    if spread is None:
        return Part(distance=measured, budget=Budget(derivation=derivation, ratio=None))
    limit = threshold(actual.size, false_alarm)
    if spread.deviation is None:
        ratio, allowed = _exact_ratio(actual, expected, spread, false_alarm), None
    else:
        allowed = scale * limit * spread.deviation + underflow(dtype) + floor
        ratio = _ratio(actual, expected, allowed, spread.unsettled)
    return Part(
        distance=measured,
        budget=Budget(
            derivation=derivation,
            ratio=ratio,
            allowed_max=float(np.max(allowed)) if allowed is not None and allowed.size else None,
            allowed_rms=_rms(allowed),
            threshold=limit,
            draws=spread.draws,
        ),
    )


def rounded_apart(one: Array, two: Array, spread: Spread | None, *, false_alarm: float) -> bool:
    """Whether rounding explains how far two runs of one tensor are apart; not where none is known.

    Both rounded, so the two of them may be as far apart as two draws.
    """
    if spread is None or one.shape != two.shape:
        return False
    dtype, twice = str(two.dtype), merged(spread, spread)
    part = judge(one, two, twice, dtype=dtype, derivation="", false_alarm=false_alarm)
    return part.budget.within is Judgement.YES


def judge_by_word(actual: Array, expected: Array, budget: float, *, dtype: str) -> Part:
    """Hold every element against the budget that the user stated, absolute, for this output.

    Whole numbers may be as far apart as it says; booleans and strings have no distance.
    """
    measured = distance(actual, expected, dtype=dtype)
    settled = np.zeros(actual.shape, bool)
    if is_inexact(actual) or is_inexact(expected):
        ratio = _ratio(actual, expected, np.full(actual.shape, float(budget)), settled)
    elif is_integer(actual) and is_integer(expected):
        apart = _whole_distance(actual, expected)
        ratio = 0.0 if not apart else apart / budget if budget else np.inf
    else:
        ratio = 0.0 if not measured.differing else np.inf
    told = Budget(derivation="stated by the user", ratio=ratio, allowed_max=float(budget))
    return Part(distance=measured, budget=told)


def _whole_distance(actual: Array, expected: Array) -> float:
    """The largest distance of whole numbers, without the rounding of floats."""
    narrow = actual.dtype.itemsize < 8 and expected.dtype.itemsize < 8
    # Differences of 64-bit numbers need 65 bits, which only Python's integers have.
    exact: type = np.int64 if narrow else object
    return float(np.max(np.abs(actual.astype(exact) - expected.astype(exact)), initial=0))


def as_stored(expected: Array, actual: Array, dtype: str, spread: Spread | None) -> Array:
    """What a tensor of type ``dtype`` shows of an oracle's value: infinities where it overflows.

    Within the noise of the largest number either is accepted: there the expected value is
    taken to be what the run shows.
    """
    # Only an oracle's float64 can exceed what the type holds; a run is stored in it already.
    if expected.dtype != np.float64 or dtype not in {"float16", "float32", "bfloat16"}:
        return expected
    largest = float(float_info(dtype).max)
    size = np.abs(expected)
    if not np.any(np.isfinite(expected) & (size > 0.5 * largest)):
        return expected
    shown = np.where(
        np.isfinite(expected) & (size > largest), np.copysign(np.inf, expected), expected
    )
    if spread is not None and spread.deviation is not None:
        with np.errstate(invalid="ignore"):
            margin = np.abs(size - largest) <= threshold(expected.size) * spread.deviation
        wide = widen(actual)
        shown = np.where(
            margin & np.isinf(wide) & (np.sign(wide) == np.sign(expected)), wide, shown
        )
    return np.asarray(shown)


def underflow(dtype: str) -> float:
    """The smallest normal number: runtimes may flush what lies below it."""
    return float(float_info(dtype).smallest_normal)


def _ratio(actual: Array, expected: Array, allowed: Array, unsettled: Array) -> float:
    with np.errstate(all="ignore"):
        a, e = widen(actual), widen(expected)
        same = (a == e) | (np.isnan(a) & np.isnan(e))
        error = np.abs(a - e)
        finite = np.isfinite(error)
        ratios = np.where(same, 0.0, np.where(finite, error / allowed, np.inf))
    # Where rounding decides whether the value is finite, either answer is right.
    ratios = np.where(unsettled & ~(np.isfinite(a) & np.isfinite(e)), 0.0, ratios)
    return float(np.max(ratios, initial=0.0))


def _exact_ratio(actual: Array, expected: Array, spread: Spread, false_alarm: float) -> float:
    """How far whole numbers are apart where the draws moved them, over how far they may be.

    Where no draw moved a number, it may only be one of those that another draw would have moved
    first: of the ones that a single draw of n moved, the n-th part (Good and Turing's estimate).
    """
    differs = np.asarray(actual != expected)
    stray = int(np.count_nonzero(differs & ~spread.unsettled))
    if stray and as_many(stray, spread.once / spread.draws) < false_alarm:
        return float("inf")
    if spread.reach is None or not bool(np.any(differs)):
        return 0.0
    apart = np.abs(widen(actual) - widen(expected))[differs]
    reach = np.where(spread.unsettled, spread.reach, np.max(spread.reach))[differs]
    # A handful of draws does not show the farthest that an integer can go.
    farther = threshold(actual.size, false_alarm) / usual_peak(spread.draws)
    return float(np.max(apart / (farther * reach)))


def _rms(allowed: Array | None) -> float | None:
    if allowed is None or allowed.size == 0:
        return None
    return float(np.sqrt(np.mean(np.square(allowed))))
