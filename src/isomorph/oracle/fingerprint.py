"""A tensor's values in short, the same however its axes are arranged.

Two tensors that hold the same numbers in another order have the same fingerprint. Numbers that
differ by rounding move it by no more than rounding. One pass, no sorting.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from isomorph.core.trace import Array

PIECE = 1 << 16
"""Elements of a tensor that are looked at together: in float64 they fit a processor's cache."""
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
    finite = flat = np.ravel(np.asarray(array)).astype(np.float64, copy=False)
    infinite = undefined = 0
    least, most = _range(flat)
    if not (np.isfinite(least) and np.isfinite(most)):
        infinite, undefined = int(np.isinf(flat).sum()), int(np.isnan(flat).sum())
        finite = flat[np.isfinite(flat)]
        least, most = _range(finite)
    if not finite.size:
        finite = np.zeros(1)
    # Scaled, so that squares of very large or very small values stay representable.
    unit = max(abs(least), abs(most)) or 1.0
    mean, absolute, signed, squares = _means(finite, unit)
    rms = float(np.sqrt(squares))
    leaning = signed / rms if rms > 0 else 0.0
    return Fingerprint(
        elements=flat.size,
        infinite=infinite,
        undefined=undefined,
        rms=rms * unit,
        mean=mean * unit,
        absolute=absolute * unit,
        leaning=leaning * unit,
        least=least,
        most=most,
    )


def _means(values: Array, unit: float) -> tuple[float, float, float, float]:
    """Return the means of the values in a unit: plain, absolute, squared with sign, squared."""
    sums = np.zeros(4)
    for at in range(0, values.size, PIECE):
        scaled = values[at : at + PIECE] / unit
        sizes = np.abs(scaled)
        sums[:2] += np.sum(scaled), np.sum(sizes)
        np.multiply(scaled, sizes, out=sizes)
        np.square(scaled, out=scaled)
        sums[2:] += np.sum(sizes), np.sum(scaled)
    mean, absolute, signed, squares = (float(each) for each in sums / values.size)
    return mean, absolute, signed, squares


def _range(values: Array) -> tuple[float, float]:
    """Return the smallest and the largest number; NaN where one is."""
    return (float(np.min(values)), float(np.max(values))) if values.size else (0.0, 0.0)
