"""Which tensors can be the same, by their fingerprints."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping

from isomorph.oracle.fingerprint import FLOAT64_ORDER, Fingerprint


def alike(left: Fingerprint, right: Fingerprint, tolerance: float, reach: float) -> bool:
    """Whether the values could be the same.

    ``tolerance`` is the rms of what may differ, ``reach`` the largest size of it. No statistic
    here moves farther than these if the elements do not, so nothing that is equal is missed.
    """
    return (
        left.elements == right.elements
        and left.infinite == right.infinite
        and left.undefined == right.undefined
        and abs(left.rms - right.rms) <= tolerance
        and abs(left.mean - right.mean) <= tolerance
        and abs(left.absolute - right.absolute) <= tolerance
        and abs(left.leaning - right.leaning) <= 3.0 * tolerance
        and abs(left.least - right.least) <= reach
        and abs(left.most - right.most) <= reach
    )


class Index:
    """Fingerprints by element count and noise, sorted by the size of the values.

    Tensors of like noise stand together, so that one that noise moves far does not widen the
    search among all the others: near ones are found in the time it takes to name them.
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

    def near(self, wanted: Fingerprint, noise: float, deviations: float) -> Iterator[str]:
        """The tensors whose values could be these, by their size; ``noise`` is of the wanted."""
        for bucket in self._buckets.get(wanted.elements, {}).values():
            width = deviations * math.hypot(bucket.noise, noise)
            width += FLOAT64_ORDER * (wanted.rms + width)
            start = bisect_left(bucket.entries, (wanted.rms - width, ""))
            stop = bisect_right(bucket.entries, (wanted.rms + width, "\U0010ffff"))
            yield from (bucket.entries[place][1] for place in range(start, stop))


class _Bucket:
    """Tensors of one size whose noise is of one order."""

    __slots__ = ("entries", "noise")

    def __init__(self) -> None:
        self.entries: list[tuple[float, str]] = []
        self.noise = 0.0


def _level(noise: float) -> int:
    """The order of a noise, in powers of sixteen; none and infinite noise have their own."""
    if not 0.0 < noise < math.inf:
        return -10_000 if noise == 0.0 else 10_000
    return math.frexp(noise)[1] // 4
