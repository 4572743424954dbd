"""The values that draws reached at elements that jump: after Floor, a label, a branch.

A value that rounding moves from 2 to 3 has a standard deviation, and yet it can be neither 4 nor
2.5. Such an element is compared with the reached values themselves, and only the small differences
around them are random.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.stated_numbers import JUMP_GAP, JUMPS_BY_DRAWS

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.measure.spread import Spread

_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """The draws of one tensor, as steps from its undisturbed value; the first row is zero.

    ``plain`` counts the rows behind it whose noise is as wide as rounding; the others are wider.
    ``few`` marks the elements that take few values. ``loose`` is the deviation of each element
    with its jumps and its neighbors', for tensors whose values a few draws cannot exhaust.
    """

    steps: Array
    plain: int
    few: Array
    loose: Array


def few_values(steps: Array) -> tuple[Array, Array, Array]:
    """Return which elements take few values, the variance about those, and its freedom.

    ``steps`` has one row for each draw. The variance of the other elements is about zero.
    """
    rows, shape = steps.shape[0], steps.shape[1:]
    flat = steps.reshape(rows, -1)
    few = np.zeros(flat.shape[1], bool)
    variance, freedom = np.zeros(flat.shape[1]), np.full(flat.shape[1], float(rows - 1))
    for start in range(0, flat.shape[1], _BLOCK):
        block = slice(start, start + _BLOCK)
        few[block], variance[block], freedom[block] = _block(flat[:, block].astype(np.float64))
    return few.reshape(shape), variance.reshape(shape), freedom.reshape(shape)


def _block(steps: Array) -> tuple[Array, Array, Array]:
    rows = steps.shape[0]
    with np.errstate(invalid="ignore"):
        ordered = np.sort(np.nan_to_num(steps, nan=0.0, posinf=0.0, neginf=0.0), axis=0)
    gaps = np.diff(ordered, axis=0)
    ranked = np.sort(gaps, axis=0)[::-1]
    smaller = np.cumsum(ranked[::-1], axis=0)[::-1] - ranked
    most = max(1, (rows - 1) // JUMPS_BY_DRAWS)
    jumps = ranked[: most + 1] > JUMP_GAP * smaller[: most + 1]
    # The splits are the largest gaps, up to the last that stands out from all below it.
    splits = np.max(np.where(jumps, np.arange(1, jumps.shape[0] + 1)[:, None], 0), axis=0)
    few = (splits > 0) & (splits <= most)
    zero = np.mean(np.square(ordered), axis=0) * rows / max(rows - 1, 1)
    freedom = np.full(steps.shape[1], float(rows - 1))
    if not few.any():
        return few, zero, freedom
    least = np.take_along_axis(ranked, np.maximum(splits - 1, 0)[None], axis=0)[0]
    cluster = np.concatenate(
        [np.zeros((1, steps.shape[1]), int), np.cumsum(gaps >= least, axis=0)], axis=0
    )
    within = np.zeros(steps.shape[1])
    for number in range(most + 1):
        own = cluster == number
        count = np.maximum(np.count_nonzero(own, axis=0), 1)
        center = np.sum(np.where(own, ordered, 0.0), axis=0) / count
        within += np.sum(np.where(own, np.square(ordered - center), 0.0), axis=0)
    left = np.maximum(rows - 1.0 - splits, 1.0)
    return few, np.where(few, within / left, zero), np.where(few, left, freedom)


def nearest(difference: Array, sides: tuple[Reached, ...], where: Array) -> Array:
    """Return how far differences at ``where`` are from the closest that the draws explain.

    Between the undisturbed value and a run of one model this is the step of a draw. Between two
    models both may have jumped: then it is any difference of two draws of either.
    """
    found = np.abs(difference[where])
    for side in sides:
        steps = side.steps.reshape(side.steps.shape[0], -1)[:, where.reshape(-1)]
        steps = steps.astype(np.float64)
        others = steps if len(sides) > 1 else steps[:1]
        for other in others:
            with np.errstate(invalid="ignore"):
                gap = np.abs(difference[where][None] - (steps - other))
            gap = np.where(np.isfinite(gap), gap, np.inf)
            found = np.minimum(found, np.min(gap, axis=0))
    return np.asarray(found)


def values_meet(
    sides: Sequence[tuple[Array | None, Array | None, Spread | None]], tolerance: float | None
) -> bool:
    """Whether every element that jumps has a value that both sides reached, if that is known.

    Each side has its run, its undisturbed value and its draws. One that reaches 1 and 2 and another
    that reaches nothing but 0 are different, though a jump of 1 is not unusual. Values that are not
    finite are judged elsewhere.
    """
    known = [
        (run, oracle, spread.reached)
        for run, oracle, spread in sides
        if run is not None and oracle is not None and spread is not None
    ]
    few = [each.few for *_, reached in known for each in reached]
    if tolerance is None or len(known) < len(sides) or not few:
        return True
    jumping = np.logical_or.reduce(few)
    rows = []
    for run, oracle, reached in known:
        start = np.asarray(oracle, np.float64)[jumping]
        drawn = [start + each.steps[:, jumping].astype(np.float64) for each in reached]
        rows.append(np.vstack([np.asarray(run, np.float64)[jumping], start, *drawn]))
    first, second = rows
    gap = np.full(first.shape[1], np.inf)
    for row in second:
        with np.errstate(invalid="ignore"):
            gap = np.fmin(gap, np.fmin.reduce(np.abs(first - row), axis=0))
    return bool(np.all((gap <= tolerance) | ~np.isfinite(gap)))


def usually_unmoved(side: Reached) -> float:
    """Return how many elements one draw moves on average that no other draw moves."""
    flat = side.steps.reshape(side.steps.shape[0], -1) != 0
    once = np.count_nonzero(flat, axis=0) == 1
    return int(np.count_nonzero(flat[1 : side.plain + 1] & once)) / max(side.plain, 1)


def usually_uncovered(side: Reached, tolerance: Array) -> float:
    """Return how many often-moving elements have a value in one draw that no other reaches."""
    rows = side.steps.shape[0]
    flat = side.steps.reshape(rows, -1)
    bound = np.broadcast_to(tolerance, side.steps.shape[1:]).reshape(-1)
    moved = np.flatnonzero(np.count_nonzero(flat, axis=0) > 1)
    count = 0
    for start in range(0, moved.size, _BLOCK):
        at = moved[start : start + _BLOCK]
        steps = flat[:, at].astype(np.float64)
        for row in range(1, side.plain + 1):
            others = np.delete(steps, row, axis=0)
            with np.errstate(invalid="ignore"):
                near = np.abs(others - steps[row]) <= bound[at]
            count += int(np.count_nonzero(~np.any(near, axis=0)))
    return count / max(side.plain, 1)


def never_moved(sides: tuple[Reached, ...]) -> Array:
    """Mark the elements that no draw of either side moved."""
    moved = [np.any(side.steps != 0, axis=0) for side in sides]
    return np.asarray(~np.logical_or.reduce(moved))
