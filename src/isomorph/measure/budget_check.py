"""Compare a distance with its budget, element by element."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.chance import as_many, usual_peak
from isomorph.core.divergence import Budget, ErrorTerm
from isomorph.core.stated_numbers import REAL_ROUNDING
from isomorph.measure.distance import (
    distance,
    float_info,
    is_inexact,
    is_integer,
    widen,
)
from isomorph.measure.element_errors import Allowance, error_ratios, stored_rounding, totals
from isomorph.measure.reached_values import (
    nearest,
    never_moved,
    usually_uncovered,
    usually_unmoved,
)
from isomorph.measure.spread import Spread, hopeless, merged, student, threshold

if TYPE_CHECKING:
    from isomorph.core.trace import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class _Compared:
    """Two arrays that should be equal, and their declared type."""

    actual: Array
    expected: Array
    dtype: str


def judge(
    actual: Array,
    expected: Array,
    spread: Spread | None,
    *,
    dtype: str,
    derivation: str,
    scale: float = 1.0,
    stored: bool = True,
    flushed: bool = True,
    false_alarm: float,
) -> ErrorTerm:
    """Measure, and compare every element with ``scale`` · threshold · its deviation.

    ``stored``: at least one side went through the type; two results of float64 did not.
    ``flushed``: at least one side is a run, which may have flushed a number to zero.

    ``dtype`` is the declared type of the tensor: where the expected value overflows it, an
    infinity is what a correct run returns; below its smallest normal number, runtimes may flush.
    """
    expected = as_stored(expected, actual, dtype, spread)
    actual = as_stored(actual, expected, dtype, spread)
    measured = distance(actual, expected, dtype=dtype)
    if spread is None:
        return ErrorTerm(distance=measured, budget=Budget(derivation=derivation, ratio=None))
    limit = student(actual.size, spread.freedom, false_alarm)
    compared = _Compared(actual=actual, expected=expected, dtype=dtype)
    budget = Budget(
        derivation=derivation,
        ratio=None,
        threshold=limit,
        draws=spread.draws,
        freedom=None if math.isinf(spread.freedom) else spread.freedom,
        lower_bound=spread.lower_bound,
    )
    if spread.deviation is None:
        budget = _judge_exact(compared, spread, false_alarm, budget)
    else:
        allowance = Allowance(
            deviation=spread.deviation,
            times=scale * limit,
            unsettled=spread.unsettled,
            dtype=dtype,
            stored=stored,
            flushed=flushed,
        )
        budget = _judge_floats(compared, allowance, spread, false_alarm, budget)
    return ErrorTerm(distance=measured, budget=budget)


def _judge_exact(compared: _Compared, spread: Spread, false_alarm: float, budget: Budget) -> Budget:
    """Judge integers, booleans and strings, which do not round."""
    actual, expected = compared.actual, compared.expected
    equal = np.asarray(actual == expected)
    number = actual.dtype.kind in "biuf" or is_integer(actual)
    # Of strings it is only known whether the draws agree.
    found = np.where(equal if number else equal | spread.unsettled, 0.0, np.inf)
    if not spread.reached or not np.any(found > 1.0):
        return replace(budget, ratio=_largest_of(found, spread, false_alarm))
    nothing = np.zeros(actual.shape)
    return _judge_reached(compared, found, spread, budget, allowed=nothing, false_alarm=false_alarm)


def _judge_floats(
    compared: _Compared, allowance: Allowance, spread: Spread, false_alarm: float, budget: Budget
) -> Budget:
    actual, expected = compared.actual, compared.expected
    found = totals(actual, expected, allowance)
    if actual.size:
        allowed_rms = math.sqrt(found.allowed_squares / actual.size)
        budget = replace(budget, allowed_max=found.allowed, allowed_rms=allowed_rms)
    if not found.allowed < found.value:
        # Only a budget as large as the largest value leaves it unjudged.
        blind = _blind(compared, allowance, budget.threshold or 0.0, false_alarm)
        budget = replace(budget, blind=blind)
    if spread.reached and found.ratio > 1.0:
        allowed = allowance.each(actual, expected)
        each = error_ratios(actual, expected, allowed, spread.unsettled)
        return _judge_reached(
            compared, each, spread, budget, allowed=allowed, false_alarm=false_alarm
        )
    largest = found.ratio, found.finite_ratio
    return replace(budget, ratio=_largest(*largest, actual.size, spread, false_alarm))


def _judge_reached(
    compared: _Compared,
    found: Array,
    spread: Spread,
    budget: Budget,
    *,
    allowed: Array,
    false_alarm: float,
) -> Budget:
    """Judge where elements jump; ``found`` are their errors over what is ``allowed``."""
    with np.errstate(all="ignore"):
        difference = np.array(widen(compared.actual) - widen(compared.expected))
        # Beyond 2**53 two whole numbers may differ, and their float64 not.
        difference[(difference == 0) & (found > 1.0)] = np.inf
    left, uncovered = _reached(difference, found, allowed, spread, false_alarm)
    return replace(budget, ratio=_largest_of(left, spread, false_alarm), uncovered=uncovered)


def explained_by_rounding(
    one: Array, two: Array, spread: Spread | None, *, false_alarm: float
) -> bool:
    """Whether rounding explains the difference of two runs of one tensor; False if unknown.

    Both runs round, so they may differ as much as two draws.
    """
    if spread is None or one.shape != two.shape:
        return False
    dtype, twice = str(two.dtype), merged(spread, spread)
    part = judge(one, two, twice, dtype=dtype, derivation="", false_alarm=false_alarm)
    return part.within


def judge_stated_budget(actual: Array, expected: Array, budget: float, *, dtype: str) -> ErrorTerm:
    """Compare every element with the absolute budget that the user stated for this output.

    Integers may differ by the budget; booleans and strings must be equal.
    """
    measured = distance(actual, expected, dtype=dtype)
    settled = np.zeros(actual.shape, bool)
    if is_inexact(actual) or is_inexact(expected):
        allowed = np.full(actual.shape, float(budget))
        ratio = float(np.max(error_ratios(actual, expected, allowed, settled), initial=0.0))
    elif is_integer(actual) and is_integer(expected):
        apart = _whole_distance(actual, expected)
        ratio = 0.0 if not apart else apart / budget if budget else np.inf
    else:
        ratio = 0.0 if not measured.differing else np.inf
    stated = Budget(derivation="stated by the user", ratio=ratio, allowed_max=float(budget))
    return ErrorTerm(distance=measured, budget=stated)


def _whole_distance(actual: Array, expected: Array) -> float:
    """Return the largest difference of integers, without the rounding of floats."""
    narrow = actual.dtype.itemsize < 8 and expected.dtype.itemsize < 8
    # Differences of 64-bit numbers need 65 bits, which only Python's integers have.
    exact: type = np.int64 if narrow else object
    return float(np.max(np.abs(actual.astype(exact) - expected.astype(exact)), initial=0))


def as_stored(expected: Array, actual: Array, dtype: str, spread: Spread | None) -> Array:
    """Return an oracle's value as a tensor of ``dtype`` stores it: infinite where it overflows.

    Within the noise of the largest number either is accepted: there the expected value is what
    the run returns.
    """
    # Only an oracle's float64 can exceed what the type holds; a run is stored in it already.
    if expected.dtype != np.float64 or dtype not in {"float16", "float32", "bfloat16"}:
        return expected
    largest = float(float_info(dtype).max)
    ends = (np.min(expected), np.max(expected)) if expected.size else (0.0, 0.0)
    if all(abs(end) <= 0.5 * largest for end in ends):
        return expected
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


def _reached(
    difference: Array, ratios: Array, allowed: Array, spread: Spread, false_alarm: float
) -> tuple[Array, int]:
    """Compare elements that jump with the values that draws reached.

    Some tensors jump so often that every draw has values that no other reached (a network that
    quantizes inside). As many of those as draws leave on average may remain; they are compared
    with their deviation including jumps. Their number is returned as well. Elements that no draw
    moved are counted separately: a tie at one element does not excuse another.
    """
    ratios, finite = ratios.copy(), np.isfinite(difference)
    jumping = np.logical_or.reduce([side.few for side in spread.reached])
    exact = spread.deviation is None
    where = (ratios > 1.0) & finite & (jumping | exact)
    left = nearest(difference, spread.reached, where)
    with np.errstate(all="ignore"):
        ratios[where] = np.where(left == 0, 0.0, left / allowed[where])
    still = exact or np.asarray(spread.deviation == 0)
    open_to_doubt = (ratios > 1.0) & (jumping | still) & finite
    unmoved = open_to_doubt & never_moved(spread.reached)
    uncovered = np.zeros(ratios.shape, bool)
    sides = spread.reached
    for group, usual in (
        (unmoved, sum(map(usually_unmoved, sides)) if unmoved.any() else 0.0),
        (open_to_doubt & ~unmoved, sum(usually_uncovered(side, allowed) for side in sides)),
    ):
        count = int(np.count_nonzero(group))
        if count and as_many(count, usual) >= false_alarm:
            uncovered |= group
    loose = np.sqrt(sum(np.square(side.loose) for side in sides))
    # A few draws do not show the largest step of an integer.
    farther = threshold(ratios.size, false_alarm) / (usual_peak(spread.draws) if exact else 1.0)
    with np.errstate(all="ignore"):
        ratios[uncovered] = (np.abs(difference) / (farther * loose + allowed))[uncovered]
    return ratios, int(np.count_nonzero(uncovered))


def _blind(compared: _Compared, allowance: Allowance, limit: float, false_alarm: float) -> int:
    """Count the elements that differ within a budget that is too large to judge them.

    Where an output is only rounding, its values are as large as the noise. Values that are all far
    smaller than noise of that size would make them (by the stated probability, even if real
    rounding is eight times smaller) are no sample of it.
    """
    actual, expected = compared.actual, compared.expected
    allowed = allowance.each(actual, expected)
    with np.errstate(all="ignore"):
        a, e = widen(actual), widen(expected)
        error = np.abs(a - e)
        finite = np.isfinite(error)
        differ = finite & (error > stored_rounding(actual, expected, compared.dtype))
        largest = float(np.max(np.maximum(np.abs(a), np.abs(e)), initial=0.0, where=finite))
        doubtful = differ & (allowed >= largest) & (error <= allowed)
        if not doubtful.any():
            return 0
        noise = allowed[doubtful] / (limit * REAL_ROUNDING)
        share = np.minimum(np.sqrt(2.0 / np.pi) * largest / noise, 1.0)
        return int(doubtful.sum()) if np.sum(np.log(share)) < math.log(false_alarm) else 0


def _largest_of(found: Array, spread: Spread, false_alarm: float) -> float:
    largest = float(np.max(found, initial=0.0))
    finite = float(np.max(found, initial=0.0, where=np.isfinite(found)))
    return _largest(largest, finite, found.size, spread, false_alarm)


def _largest(
    largest: float, finite: float, elements: int, spread: Spread, false_alarm: float
) -> float:
    """Return the largest ratio; the largest ``finite`` one where that is already beyond doubt.

    An infinite ratio belongs to an element that may not differ at all, and has no size.
    """
    if not math.isinf(largest):
        return largest
    enough = hopeless(spread.draws, elements, spread.freedom, false_alarm)
    return finite if finite >= enough else largest
