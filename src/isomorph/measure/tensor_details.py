"""Details of one tensor: the distribution of its values, and where it differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Literal

import numpy as np

from isomorph.core.dataset_summary import AxisProfile
from isomorph.core.profile import CloseUp, Element, HeatMap, Histogram
from isomorph.measure.distance import is_inexact, widen

if TYPE_CHECKING:
    from isomorph.core.trace import Array

_BINS = 48
_WIDEST_MAP = 48
_MOST_POINTS = 128
_MOST_WORST = 12
_FIGURES = 5


def close_up(
    kind: Literal["node", "output"],
    names: tuple[str, str],
    reference: Array,
    candidate: Array,
    *,
    node: str | None = None,
    dtype: str | None = None,
    feeds: Mapping[str, Array] | None = None,
) -> CloseUp | None:
    """Return the details of two tensors of one shape; None where there is nothing to compare.

    That is so of values that are no numbers, and where no number of either is finite.
    """
    if reference.shape != candidate.shape or not (_numbers(reference) and _numbers(candidate)):
        return None
    if nothing_finite(reference) and nothing_finite(candidate):
        return None
    ref, cand = (np.asarray(widen(each), np.float64) for each in (reference, candidate))
    step = difference(ref, cand)
    finite = np.where(np.isfinite(step), step, 0.0)
    size = _rms(ref[np.isfinite(ref)])
    return CloseUp(
        kind=kind,
        tensor=names[1],
        counterpart=names[0],
        dtype=dtype or str(candidate.dtype),
        shape=tuple(candidate.shape),
        node=node,
        max_abs=short(float(np.max(step))) if step.size else None,
        relative=short(_rms(finite) / size) if size > 0 else None,
        histogram=_histogram(ref, cand),
        heat_map=_heat_map(finite),
        by_axis=tuple(_by_axis(finite, ref, feeds or {})),
        worst=tuple(_worst(step, ref, cand)),
    )


def short(value: float) -> float:
    """Round a number for display, to keep the page of a large model small."""
    return float(f"{value:.{_FIGURES}g}")


def nothing_finite(value: Array) -> bool:
    """Whether a tensor has elements, and each of them is NaN or infinite."""
    if value.size == 0 or not _numbers(value):
        return False
    first = np.isfinite(widen(value.ravel()[:1]))
    return not first.any() and not np.isfinite(widen(value)).any()


def difference(ref: Array, cand: Array) -> Array:
    """Return the absolute difference; zero for equal infinities and for NaN on both sides."""
    with np.errstate(all="ignore"):
        same = (ref == cand) | (np.isnan(ref) & np.isnan(cand))
        step = np.where(same, 0.0, np.abs(ref - cand))
    return np.asarray(np.where(np.isnan(step), np.inf, step))


def _rms(values: Array) -> float:
    """Return the rms, scaled so that squares neither overflow nor underflow."""
    unit = float(np.max(np.abs(values), initial=0.0))
    return unit * float(np.sqrt(np.mean(np.square(values / unit)))) if unit > 0 else 0.0


def _numbers(array: Array) -> bool:
    return is_inexact(array) and array.dtype.kind != "c" if array.dtype.kind not in "iub" else True


def _histogram(ref: Array, cand: Array) -> Histogram | None:
    left, right = (each[np.isfinite(each)] for each in (ref, cand))
    if not left.size or not right.size:
        return None
    least, most = min(left.min(), right.min()), max(left.max(), right.max())
    with np.errstate(over="ignore"):
        width = most - least
    if not np.isfinite(width):
        return None  # the range itself is too wide for a float64
    # Large integers may be so close that no float64 lies between two bins.
    resolution = _BINS * float(np.spacing(max(abs(least), abs(most))))
    if width <= resolution:
        least, most = least - max(0.5, resolution), most + max(0.5, resolution)
    counts = [np.histogram(each, bins=_BINS, range=(least, most))[0] for each in (left, right)]
    return Histogram(
        least=short(float(least)),
        most=short(float(most)),
        reference=tuple(int(count) for count in counts[0]),
        candidate=tuple(int(count) for count in counts[1]),
        reference_not_finite=int(ref.size - left.size),
        candidate_not_finite=int(cand.size - right.size),
    )


def _heat_map(step: Array) -> HeatMap | None:
    """Return the largest differences over the two axes of an image, or time by features."""
    axes = _plane(step.shape)
    if axes is None:
        return None
    others = tuple(axis for axis in range(step.ndim) if axis not in axes)
    flat = step.max(axis=others)
    for axis in (0, 1):
        group = -(-flat.shape[axis] // _WIDEST_MAP)
        flat = np.maximum.reduceat(flat, np.arange(0, flat.shape[axis], group), axis=axis)
    return HeatMap(
        row_axis=axes[0],
        column_axis=axes[1],
        rows=step.shape[axes[0]],
        columns=step.shape[axes[1]],
        values=tuple(tuple(short(float(value)) for value in row) for row in flat),
    )


def _plane(shape: tuple[int, ...]) -> tuple[int, int] | None:
    """Return two neighboring axes after the batch: the last of equal length, or the last."""
    if not all(shape):
        return None
    pairs = [(axis, axis + 1) for axis in range(1, len(shape) - 1)]
    large = [(a, b) for a, b in pairs if min(shape[a], shape[b]) > 1]
    square = [(a, b) for a, b in large if shape[a] == shape[b]]
    if square or large:
        return (square or large)[-1]
    return (0, 1) if len(shape) == 2 and min(shape) > 1 else None


def _by_axis(step: Array, ref: Array, feeds: Mapping[str, Array]) -> Iterator[AxisProfile]:
    """Yield the relative error at each index of each axis longer than one."""
    steps = _steps(feeds)
    signals = np.where(np.isfinite(ref), ref, 0.0)
    unit = max(float(np.max(np.abs(signals), initial=0.0)), float(np.max(step, initial=0.0))) or 1.0
    errors, below = (step / unit) ** 2, (signals / unit) ** 2
    for axis in range(step.ndim):
        size = step.shape[axis]
        if size < 2 or not step.size:
            continue
        others = tuple(other for other in range(step.ndim) if other != axis)
        group = -(-size // _MOST_POINTS)
        starts = np.arange(0, size, group)
        above = np.add.reduceat(errors.sum(others), starts)
        signal = np.add.reduceat(below.sum(others), starts)
        with np.errstate(all="ignore"):
            ratio = np.where(above == 0.0, 0.0, np.sqrt(above / signal))
        yield AxisProfile(
            axis=axis,
            length=size,
            step=group,
            relative=tuple(short(float(value)) for value in ratio),
            # Of two axes before the features, either may be time: (batch, time) or (time, batch).
            input=steps.get(size) if step.ndim == 3 and axis < 2 else None,
        )


def _steps(feeds: Mapping[str, Array]) -> dict[int, str]:
    """Return possible numbers of time steps, with the input that has them."""
    return {
        np.shape(array)[axis]: name
        for name, array in reversed(list(feeds.items()))
        if 2 <= np.ndim(array) <= 3
        for axis in ((1,) if np.ndim(array) == 2 else (0, 1))
    }


def _worst(step: Array, ref: Array, cand: Array) -> Iterator[Element]:
    flat = step.ravel()
    count = min(_MOST_WORST, flat.size)
    if not count:
        return
    places = np.argpartition(flat, flat.size - count)[-count:]
    for place in places[np.argsort(flat[places], kind="stable")[::-1]]:
        if flat[place] > 0:
            index = tuple(int(i) for i in np.unravel_index(place, step.shape))
            yield Element(index=index, reference=float(ref[index]), candidate=float(cand[index]))
