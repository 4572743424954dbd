"""The error along each axis of an output (time steps, channels), over all samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.dataset_summary import AxisProfile
from isomorph.measure.distance import widen

if TYPE_CHECKING:
    from isomorph.core.trace import Array

SHORTEST = 4
_MOST_POINTS = 256


class Profiles:
    """Sums of squares of error and of expected values, at each index of each axis."""

    def __init__(self) -> None:
        self._error: dict[int, Array] = {}
        self._signal: dict[int, Array] = {}
        self._inputs: dict[int, str | None] = {}

    def add(self, actual: Array, expected: Array, feeds: Mapping[str, Array]) -> None:
        """Add one sample; only its finite values count."""
        lengths = {
            size: name
            for name, array in reversed(list(feeds.items()))
            for size in (array.shape[axis] for axis in _axes(array.shape))
            if size >= SHORTEST
        }
        with np.errstate(all="ignore"):
            a, e = widen(actual), widen(expected)
            error, signal = np.abs(a - e) ** 2, np.abs(e) ** 2
        finite = np.isfinite(error) & np.isfinite(signal)
        error, signal = np.where(finite, error, 0.0), np.where(finite, signal, 0.0)
        for axis in _axes(expected.shape):
            size = expected.shape[axis]
            # The last axis of a matrix is features or labels, unless an input has it as well.
            if size >= SHORTEST and (expected.ndim >= 3 or size in lengths):
                others = tuple(other for other in range(expected.ndim) if other != axis)
                self._error[axis] = _sum(self._error.get(axis), error.sum(others))
                self._signal[axis] = _sum(self._signal.get(axis), signal.sum(others))
                self._inputs.setdefault(axis, lengths.get(size))

    def found(self) -> Iterator[AxisProfile]:
        """The relative error along each axis; a long one in groups of neighbors."""
        for axis, error in sorted(self._error.items()):
            step = -(-error.size // _MOST_POINTS)
            starts = np.arange(0, error.size, step)
            above = np.add.reduceat(error, starts)
            below = np.add.reduceat(self._signal[axis], starts)
            with np.errstate(all="ignore"):
                ratio = np.where(above == 0.0, 0.0, np.sqrt(above / below))
            yield AxisProfile(
                axis=axis,
                length=error.size,
                step=step,
                relative=tuple(float(value) for value in ratio),
                input=self._inputs[axis],
            )


def _axes(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return all axes but the batch, which is the first unless a later axis may be it."""
    # Recurrent layers of several frameworks take (time, batch, features).
    time_first = len(shape) >= 3 and 1 in shape[1:-1]
    return tuple(range(0 if time_first else 1, len(shape)))


def _sum(before: Array | None, now: Array) -> Array:
    """Add sums of sequences of different lengths; the result is as long as the longest."""
    if before is None:
        return now
    longer, shorter = (before, now) if before.size >= now.size else (now, before)
    total = longer.copy()
    total[: shorter.size] += shorter
    return total
