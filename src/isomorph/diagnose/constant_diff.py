"""Describe how a constant differs: permuted, narrowed, scaled, or other values."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice, permutations
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.chance import threshold
from isomorph.core.diagnosis_limits import CONSTANT_ORDERS
from isomorph.core.fault_context import Detail
from isomorph.core.messages import message
from isomorph.diagnose.narrow_float import cut_off, narrowed

if TYPE_CHECKING:
    from isomorph.core.trace import Array

_NARROW = ("float16", "bfloat16", "tf32")
ROUNDING = 4.0 * float(np.finfo(np.float32).eps)
"""Two roundings in float32 on either side: no farther apart are equal values stored twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantDifference:
    """How a constant differs, as text; ``reordered``: its values are right, in another order.

    ``rounded_to`` is the type in which its values are the right ones.
    """

    text: str
    cause: str = "weight"
    reordered: bool = False
    rounded_to: str | None = None
    swapped: tuple[int, int, int] | None = None
    """An axis, and two indices of it whose values stand in each other's place."""

    @property
    def about(self) -> frozenset[str]:
        """The same for ``Diagnosis.about``."""
        order = (Detail.REORDERED,) if self.reordered else ()
        return frozenset((*order, *((self.rounded_to,) if self.rounded_to is not None else ())))


def difference(wrong: Array, right: Array) -> ConstantDifference:
    """How ``wrong`` differs from ``right``, and the cause that this indicates."""
    if wrong.dtype == bool:  # 0 and 1 can be subtracted
        wrong, right = wrong.astype(np.float64), right.astype(np.float64)
    if wrong.size and not np.any(wrong):
        return ConstantDifference(text=message("difference.zeros"))
    order = _order_of_axes(wrong, right)
    if order is not None:
        square = wrong.ndim == 2 and wrong.shape[0] == wrong.shape[1]
        change = message("difference.transposed")
        if not square and wrong.ndim != 2:
            change = message("difference.axes", order=order)
        return ConstantDifference(text=change, cause="layout")
    if _all_close(np.sort(wrong, axis=None), np.sort(right, axis=None)):
        return _permuted(wrong, right)
    for narrow in _NARROW:
        if np.array_equal(wrong, narrowed(right, narrow)):
            text = message("difference.rounded", dtype=narrow)
            return ConstantDifference(text=text, rounded_to=narrow)
        if np.array_equal(wrong, cut_off(right, narrow)):
            text = message("difference.truncated", dtype=narrow)
            return ConstantDifference(text=text, rounded_to=narrow)
    differing = int(np.count_nonzero(~_close(wrong, right)))
    if lesser_part(differing, wrong.size):
        return ConstantDifference(text=message("difference.some", count=differing, size=wrong.size))
    factor = _factor(wrong, right)
    if factor is not None:
        return ConstantDifference(text=message("difference.factor", factor=factor))
    offset = _offset(wrong, right)
    if offset is not None:
        key = "difference.too_large" if offset > 0 else "difference.too_small"
        return ConstantDifference(text=message(key, by=abs(offset)))
    return ConstantDifference(text=_correlation(wrong, right))


def lesser_part(count: int, size: int) -> bool:
    """Whether fewer than half of the values differ, so that single values were changed."""
    return 2 * count < size


def _order_of_axes(wrong: Array, right: Array) -> tuple[int, ...] | None:
    """The order of axes in which the right values were written down."""
    if right.ndim < 2 or np.array_equal(wrong, right.reshape(wrong.shape)):
        return None
    for order in islice(CONSTANT_ORDERS.first(permutations(range(right.ndim))), 1, None):
        if np.array_equal(np.transpose(right, order).reshape(-1), wrong.reshape(-1)):
            return order
    return None


def _permuted(wrong: Array, right: Array) -> ConstantDifference:
    """Slices along one axis that stand in another order, if it is no more than that."""
    for axis in range(wrong.ndim if wrong.shape == right.shape else 0):
        cand = np.moveaxis(wrong, axis, 0).reshape(wrong.shape[axis], -1)
        ref = np.moveaxis(right, axis, 0).reshape(right.shape[axis], -1)
        found = [_row_of(row, ref) for row in cand]
        if None in found or len(set(found)) < len(found):
            continue
        moved = [place for place, origin in enumerate(found) if place != origin]
        if len(moved) == 2:
            one, other = moved
            text = message("difference.swapped", one=one, other=other, axis=axis)
            return ConstantDifference(text=text, reordered=True, swapped=(axis, one, other))
        text = message("difference.channels", count=len(moved), size=len(found), axis=axis)
        return ConstantDifference(text=text, reordered=True)
    return ConstantDifference(text=message("difference.order"), reordered=True)


def _row_of(row: Array, rows: Array) -> int | None:
    """The place of a row among others, up to a rounding of each value."""
    equal = np.flatnonzero(np.all(_close(row[None, :], rows), axis=1))
    return int(equal[0]) if equal.size else None


def _factor(wrong: Array, right: Array) -> float | None:
    """The one number by which every value was multiplied."""
    size = float(np.dot(right.reshape(-1), right.reshape(-1)))
    if size == 0.0:
        return None
    factor = float(np.dot(wrong.reshape(-1), right.reshape(-1))) / size
    return factor if factor and _all_close(wrong, factor * right) else None


def _offset(wrong: Array, right: Array) -> float | None:
    """The one number that was added to every value: weights that are stored as 1 + weight."""
    if wrong.shape != right.shape or wrong.size < 2:
        return None
    offset = float(np.median(wrong - right))
    # The sum was rounded beside the larger of its terms.
    limits = ROUNDING * (np.abs(right) + abs(offset))
    return offset if offset and np.all(np.abs(wrong - right - offset) <= limits) else None


def _correlation(wrong: Array, right: Array) -> str:
    """Describe whether the weights are correlated (two states of one training) or unrelated."""
    a, b = wrong.reshape(-1) - np.mean(wrong), right.reshape(-1) - np.mean(right)
    sizes = float(np.linalg.norm(a) * np.linalg.norm(b))
    likeness = float(np.dot(a, b)) / sizes if sizes > 0 else 0.0
    # By Fisher's transformation: how many standard deviations chance alone would have to reach.
    with np.errstate(divide="ignore"):
        beyond = float(np.arctanh(min(likeness, 1.0))) * np.sqrt(max(wrong.size - 3, 0))
    if beyond > threshold(1):
        return message("difference.correlated", correlation=likeness)
    return message("difference.unrelated")


def _close(left: Array, right: Array) -> Array:
    return np.asarray(np.abs(left - right) <= ROUNDING * np.abs(right))


def _all_close(left: Array, right: Array) -> bool:
    return left.shape == right.shape and bool(np.all(_close(left, right)))
