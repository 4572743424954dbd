"""What chance can do: the bounds that follow from one stated probability of a false alarm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist

FALSE_ALARM = 1e-6
"""The stated probability that a correct output is called wrong: with the unit roundoffs of
the float types, the only number that was typed rather than derived."""

_NORMAL = NormalDist()


@lru_cache(maxsize=4096)
def threshold(elements: int, false_alarm: float = FALSE_ALARM) -> float:
    """How many standard deviations no element of a correct tensor exceeds, but by that chance."""
    share = false_alarm / (2.0 * max(elements, 1))
    return -_NORMAL.inv_cdf(max(share, 1e-300))


def student(elements: int, freedom: float, false_alarm: float = FALSE_ALARM) -> float:
    """The same in deviations that were estimated with so many degrees of freedom.

    Student's quantile by its series in one over the degrees of freedom; they should be dozens.
    """
    z = threshold(elements, false_alarm)
    first = (z**3 + z) / 4.0
    second = (5.0 * z**5 + 16.0 * z**3 + 3.0 * z) / 96.0
    return z + first / freedom + second / freedom**2


def freedom(squares: Sequence[float]) -> float:
    """The degrees of freedom of mean squares, one for each draw, by how little they differ.

    Of many elements that move by themselves they hardly differ; of elements that all move as one
    they do as the squares of single numbers, with one degree of freedom for each draw.
    """
    draws, largest = len(squares), max(squares, default=0.0)
    if not math.isfinite(largest):
        return float(max(draws - 1, 1))
    # Only their ratios count: in units of the largest no square leaves the range of a float.
    shares = [each / largest for each in squares] if largest > 0 else []
    centre = math.fsum(shares) / max(draws, 1)
    spread = math.fsum((each - centre) ** 2 for each in shares) / max(draws - 1, 1)
    alone = 2.0 * centre**2 / spread if spread > 0 else math.inf
    return max(draws - 1, 1) * max(1.0, alone)


@lru_cache(maxsize=4096)
def usual_peak(samples: int) -> float:
    """How many standard deviations the largest of so many samples is away, in the median."""
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
