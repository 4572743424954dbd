"""A tensor's values in short, the same however its axes are arranged.

Two tensors that hold the same numbers in another order have the same fingerprint. Numbers that
differ by rounding move it by no more than rounding. One pass, no sorting.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from isomorph.core.trace import Array

_EXTREMES_MAY_MOVE = 8.0
"""Single elements carry more noise than the whole tensor's root mean square of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """Element count and five statistics of the finite values, all in the values' own unit."""

    elements: int
    infinite: int
    undefined: int
    rms: float
    mean: float
    absolute: float
    leaning: float
    least: float
    most: float


def fingerprint(array: Array) -> Fingerprint:
    """Of any numeric tensor; integers and booleans by their values."""
    flat = np.ravel(np.asarray(array)).astype(np.float64)
    infinite, undefined = int(np.isinf(flat).sum()), int(np.isnan(flat).sum())
    finite = flat[np.isfinite(flat)] if infinite or undefined else flat
    if not finite.size:
        finite = np.zeros(1)
    # Scaled, so that squares of very large or very small values stay representable.
    unit = float(np.max(np.abs(finite))) or 1.0
    scaled = finite / unit
    rms = float(np.sqrt(np.mean(np.square(scaled))))
    leaning = float(np.mean(scaled * np.abs(scaled))) / rms if rms > 0 else 0.0
    return Fingerprint(
        elements=flat.size,
        infinite=infinite,
        undefined=undefined,
        rms=rms * unit,
        mean=float(np.mean(scaled)) * unit,
        absolute=float(np.mean(np.abs(scaled))) * unit,
        leaning=leaning * unit,
        least=float(np.min(finite)),
        most=float(np.max(finite)),
    )


def alike(left: Fingerprint, right: Fingerprint, tolerance: float) -> bool:
    """Whether the values could be the same, where ``tolerance`` is the rms of what may differ."""
    return (
        left.elements == right.elements
        and left.infinite == right.infinite
        and left.undefined == right.undefined
        and abs(left.rms - right.rms) <= tolerance
        and abs(left.mean - right.mean) <= tolerance
        and abs(left.absolute - right.absolute) <= tolerance
        and abs(left.leaning - right.leaning) <= 2.0 * tolerance
        and abs(left.least - right.least) <= _EXTREMES_MAY_MOVE * tolerance
        and abs(left.most - right.most) <= _EXTREMES_MAY_MOVE * tolerance
    )


class Index:
    """Fingerprints by element count, sorted by size of the values: near ones are found quickly."""

    def __init__(self, prints: Mapping[str, Fingerprint]) -> None:
        self._buckets: dict[int, list[tuple[float, str]]] = {}
        self.prints = dict(prints)
        for name, each in prints.items():
            self._buckets.setdefault(each.elements, []).append((each.rms, name))
        for bucket in self._buckets.values():
            bucket.sort()

    def near(self, wanted: Fingerprint, tolerance: float) -> list[str]:
        """The tensors whose values could be these, by their size."""
        bucket = self._buckets.get(wanted.elements, [])
        start = bisect_left(bucket, (wanted.rms - tolerance, ""))
        stop = bisect_right(bucket, (wanted.rms + tolerance, "\U0010ffff"))
        return [name for _, name in bucket[start:stop]]
