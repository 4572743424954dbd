"""The size of a tensor, and of the difference of two."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from isomorph.core.trace import Array


def rms(array: Array) -> float:
    """Return the root mean square in float64; 0 where there is no element."""
    if not array.size:
        return 0.0
    with np.errstate(all="ignore"):
        return float(np.sqrt(np.mean(np.square(array.astype(np.float64, copy=False)))))


def rms_and_peak(left: Array, right: Array) -> tuple[float, float]:
    """Return the rms and the peak of a difference; infinite where NaN or infinities differ."""
    if left.shape != right.shape:
        return float("inf"), float("inf")
    if not left.size:
        return 0.0, 0.0
    with np.errstate(all="ignore"):
        a, b = left.astype(np.float64, copy=False), right.astype(np.float64, copy=False)
        apart = np.asarray(a - b)
        np.abs(apart, out=apart)
        peak = float(np.max(apart))
        if np.isfinite(peak):
            return rms(apart), peak
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        step = np.abs(np.where(same, 0.0, a - b))
        step = np.where(np.isnan(step), np.inf, step)
        return rms(step), float(np.max(step))
