"""A tensor's values in short, the same however its axes are arranged.

Two tensors that hold the same numbers in another order have the same fingerprint. Numbers that
differ by rounding move it by no more than rounding. One pass, no sorting.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from isomorph.core.trace import Array

FLOAT64_ORDER = 2.0**-40
"""Two float64 evaluations in another order differ by their own rounding: this share of the rms."""


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
        self._shelves: dict[int, dict[int, _Shelf]] = {}
        for name, each in prints.items():
            shelves = self._shelves.setdefault(each.elements, {})
            shelf = shelves.setdefault(_level(spread[name]), _Shelf())
            shelf.entries.append((each.rms, name))
            shelf.noise = max(shelf.noise, spread[name])
        for shelves in self._shelves.values():
            for shelf in shelves.values():
                shelf.entries.sort()

    def near(self, wanted: Fingerprint, noise: float, deviations: float) -> Iterator[str]:
        """The tensors whose values could be these, by their size; ``noise`` is of the wanted."""
        for shelf in self._shelves.get(wanted.elements, {}).values():
            width = deviations * math.hypot(shelf.noise, noise)
            width += FLOAT64_ORDER * (wanted.rms + width)
            start = bisect_left(shelf.entries, (wanted.rms - width, ""))
            stop = bisect_right(shelf.entries, (wanted.rms + width, "\U0010ffff"))
            yield from (shelf.entries[place][1] for place in range(start, stop))


class _Shelf:
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
