"""The size of a tensor, and of the difference of two."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.oracle.fingerprint import PIECE

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
        found = _of_finite(left, right)
        if found is not None:
            return found
        a, b = left.astype(np.float64, copy=False), right.astype(np.float64, copy=False)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        step = np.abs(np.where(same, 0.0, a - b))
        step = np.where(np.isnan(step), np.inf, step)
        return rms(step), float(np.max(step))


def _of_finite(left: Array, right: Array) -> tuple[float, float] | None:
    """Return rms and peak of a difference, piece by piece; None where it is not finite."""
    squares = peak = 0.0
    if left.flags.c_contiguous and right.flags.c_contiguous:
        left, right = left.reshape(-1), right.reshape(-1)
        parts = [slice(at, at + PIECE) for at in range(0, left.size, PIECE)]
    else:
        parts = [slice(None)]
    for part in parts:
        a, b = (each[part].astype(np.float64, copy=False) for each in (left, right))
        apart = np.asarray(a - b)
        highest = float(np.max(np.abs(apart)))
        if not np.isfinite(highest):
            return None
        peak = max(peak, highest)
        squares += float(np.sum(np.square(apart, out=apart)))
    return float(np.sqrt(squares / left.size)), peak
