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
