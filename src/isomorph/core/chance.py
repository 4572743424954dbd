"""Statistical bounds that follow from one stated probability of a false alarm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist

FALSE_ALARM = 1e-6
"""The stated probability that a correct output is called wrong: with the unit roundoffs of
the float types, the only number from which the budgets are derived."""

_NORMAL = NormalDist()
_LARGEST_LOG = math.log(1e150)
"""Of a quantile: the square of anything larger is no float."""


@lru_cache(maxsize=4096)
def threshold(elements: int, false_alarm: float = FALSE_ALARM) -> float:
    """The standard deviations that some element of a correct tensor exceeds with this chance."""
    share = false_alarm / (2.0 * max(elements, 1))
    return -_NORMAL.inv_cdf(max(share, 1e-300))


def student(elements: int, freedom: float, false_alarm: float = FALSE_ALARM) -> float:
    """``threshold`` for deviations that were estimated with so many degrees of freedom."""
    return _student(false_alarm / max(elements, 1), max(round(freedom, 1), 1.0))


@lru_cache(maxsize=4096)
def _student(both_tails: float, freedom: float) -> float:
    """Student's quantile: this probability lies beyond it, on both sides together.

    The logarithm of the exact tail over log t falls ever steeper, so that Newton's steps reach
    its root from above; the first one is near by Wallace's transformation of a normal quantile.
    """
    target = math.log(max(both_tails, 1e-300))
    normal = -_NORMAL.inv_cdf(0.5 * math.exp(target))
    if freedom > 1e6:
        return normal
    exponent = (normal * (8 * freedom + 3) / (8 * freedom + 1)) ** 2 / freedom
    start = freedom * max(math.expm1(min(exponent, 2.0 * _LARGEST_LOG)), 2.0**-104)
    log_t = min(0.5 * math.log(start), _LARGEST_LOG)
    for _ in range(64):
        tail, slope = _log_tail(math.exp(log_t), freedom)
        nearer = min(log_t - (tail - target) / slope, _LARGEST_LOG)
        moved, log_t = abs(nearer - log_t), nearer
        if moved < 1e-13:
            break
    return math.exp(log_t)


def _log_tail(t: float, freedom: float) -> tuple[float, float]:
    """The logarithm of the probability beyond ±t, and its derivative by the logarithm of t.

    It is an incomplete beta function of x = ν/(ν+t²), whose power series begins with ``front``.
    """
    x = freedom / (freedom + t * t)
    a, b = 0.5 * freedom, 0.5
    front = (
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
        + a * math.log(x) + b * (2.0 * math.log(t) - math.log(freedom + t * t))
    )  # fmt: skip
    if x < (a + 1.0) / (a + b + 2.0):
        log = front + math.log(_fraction(x, a, b) / a)
    else:
        rest = t * t / (freedom + t * t)
        log = math.log1p(-min(math.exp(front) * _fraction(rest, b, a) / b, 1.0 - 2.0**-52))
    return log, -2.0 * math.exp(front - log)


def _fraction(x: float, a: float, b: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    tiny = 1e-300
    c, d = 1.0, 1.0 / _away_from_zero(1.0 - (a + b) * x / (a + 1.0), tiny)
    found = d
    for m in range(1, 400):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0)),
        ):
            d = 1.0 / _away_from_zero(1.0 + numerator * d, tiny)
            c = _away_from_zero(1.0 + numerator / c, tiny)
            found *= d * c
        if abs(d * c - 1.0) < 1e-14:
            break
    return found


def _away_from_zero(value: float, least: float) -> float:
    return value if abs(value) > least else least


def largest_excess(draws: int, elements: int, false_alarm: float = FALSE_ALARM) -> float:
    """The factor by which an estimate from so many draws exceeds a variance with this chance.

    The upper quantile of chi-square over its degrees of freedom, by Wilson and Hilferty's formula.
    """
    step = 2.0 / (9.0 * draws)
    return (1.0 - step + threshold(elements, false_alarm) * math.sqrt(step)) ** 3


def largest_deficit(draws: float, elements: int, false_alarm: float = FALSE_ALARM) -> float:
    """The factor by which a variance exceeds its estimate from so many draws with this chance.

    The lower quantile of chi-square, bounded by the first term of its series.
    """
    half = draws / 2.0
    log = (math.log(false_alarm / max(elements, 1)) + math.lgamma(half + 1.0)) / half
    return draws / (2.0 * math.exp(log))


def freedom(squares: Sequence[float]) -> float:
    """The degrees of freedom of mean squares, one for each draw, estimated from their spread.

    Of many elements that move by themselves they hardly differ; of elements that all move as one
    they do as the squares of single numbers, with one degree of freedom for each draw.
    """
    draws, largest = len(squares), max(squares, default=0.0)
    if not math.isfinite(largest):
        return float(max(draws - 1, 1))
    # Only their ratios count: in units of the largest no square leaves the range of a float.
    shares = [each / largest for each in squares] if largest > 0 else []
    center = math.fsum(shares) / max(draws, 1)
    spread = math.fsum((each - center) ** 2 for each in shares) / max(draws - 1, 1)
    alone = 2.0 * center**2 / spread if spread > 0 else math.inf
    return max(draws - 1, 1) * max(1.0, alone)


@lru_cache(maxsize=4096)
def usual_peak(samples: int) -> float:
    """The median, in standard deviations, of the largest of so many samples."""
    # The chance that a given one exceeds it, 1 − 0.5^(1/n), without the cancellation.
    each = -math.expm1(-math.log(2.0) / max(samples, 1))
    return -_NORMAL.inv_cdf(0.5 * each)


def beyond_another(many: int, of: int) -> float:
    """The chance that so many values are beyond all of another sample as large and of one kind.

    Of both samples together the outermost ones are then all from this one.
    """
    return math.prod((of - n) / (2 * of - n) for n in range(many))


def as_many(found: int, expected: float) -> float:
    """The chance of at least so many rare events where so many are expected (Poisson)."""
    if found <= 0:
        return 1.0
    term = (
        math.exp(found * math.log(expected) - expected - math.lgamma(found + 1.0))
        if expected
        else 0.0
    )
    total, n = 0.0, found
    while term > total * 2.0**-53:
        total, n = total + term, n + 1
        term *= expected / n
    return min(total, 1.0)


def decisive(freedoms: int, false_alarm: float = FALSE_ALARM) -> float:
    """How many times nearer than its rival a wrong guess comes by that chance, as a share.

    What has ``freedoms`` independent numbers comes within the share s of its rival's distance
    with the chance s to the power of their number.
    """
    return float(false_alarm ** (1.0 / max(freedoms, 1)))
