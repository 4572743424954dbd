"""Find tensors that may be equal by their fingerprints."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping

from isomorph.oracle.fingerprint import FLOAT64_ORDER, Fingerprint


def may_be_equal(left: Fingerprint, right: Fingerprint, tolerance: float, peak: float) -> bool:
    """Whether tensors with these fingerprints may be equal.

    ``tolerance`` bounds the rms of their difference, ``peak`` its largest element. Each statistic
    changes by no more than these bounds if the elements do not, so no equal tensor is missed.
    ``leaning``, mean(x·|x|)/rms(x), changes by up to three times as much: its numerator by twice
    the tolerance times the larger rms, its denominator by the tolerance.
    """
    return (
        left.elements == right.elements
        and left.infinite == right.infinite
        and left.undefined == right.undefined
        and abs(left.rms - right.rms) <= tolerance
        and abs(left.mean - right.mean) <= tolerance
        and abs(left.absolute - right.absolute) <= tolerance
        and abs(left.leaning - right.leaning) <= 3.0 * tolerance
        and abs(left.least - right.least) <= peak
        and abs(left.most - right.most) <= peak
    )


class FingerprintIndex:
    """Fingerprints by element count and noise level, sorted by the rms of the values.

    Tensors of similar noise share a bucket, so that one noisy tensor does not widen the search
    among all others.
    """

    def __init__(self, prints: Mapping[str, Fingerprint], spread: Mapping[str, float]) -> None:
        self._buckets: dict[int, dict[int, _Bucket]] = {}
        for name, each in prints.items():
            buckets = self._buckets.setdefault(each.elements, {})
            bucket = buckets.setdefault(_level(spread[name]), _Bucket())
            bucket.entries.append((each.rms, name))
            bucket.noise = max(bucket.noise, spread[name])
        for buckets in self._buckets.values():
            for bucket in buckets.values():
                bucket.entries.sort()

    def near(self, mark: Fingerprint, noise: float, deviations: float) -> Iterator[str]:
        """Yield the tensors whose rms is near that of ``mark``, which has the given noise."""
        for bucket in self._buckets.get(mark.elements, {}).values():
            width = deviations * math.hypot(bucket.noise, noise)
            width += FLOAT64_ORDER * (mark.rms + width)
            start = bisect_left(bucket.entries, (mark.rms - width, ""))
            stop = bisect_right(bucket.entries, (mark.rms + width, "\U0010ffff"))
            yield from (bucket.entries[place][1] for place in range(start, stop))


class _Bucket:
    """Tensors of one element count whose noise is of one order of magnitude."""

    __slots__ = ("entries", "noise")

    def __init__(self) -> None:
        self.entries: list[tuple[float, str]] = []
        self.noise = 0.0


def _level(noise: float) -> int:
    """Return the magnitude of noise in powers of sixteen; zero and infinity have their own."""
    if not 0.0 < noise < math.inf:
        return -10_000 if noise == 0.0 else 10_000
    return math.frexp(noise)[1] // 4
