"""Sums that no arithmetic rounds: numbers on one coarse grid, or one number among zeros.

Whole numbers, halves and one-hot vectors are added without any error, in every order. Disturbed,
equal sums would differ, and a tie between them could be decided in any way.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.generic]
Exact = Callable[[Array, Array, float], Array]
"""From sums, the sums of their sizes and the unit roundoff to where nothing is rounded."""

_GRIDS = (0, 4, 8, 12)
"""Binary places behind the point. Measured or learned numbers have more."""
_FEW = 64


def sums_of(*factors: Array, single: Array | None = None) -> Exact | None:
    """Where sums of products of these are exact; None where that is nowhere.

    ``single`` marks sums of which at most one term is not zero: such a sum is that term, rounded
    once where it is a product, and not at all where that is a number of the type.
    """
    places = [_places(each) for each in factors]
    known = [each for each in places if each is not None]
    on_grid = len(known) == len(places)
    if not on_grid and (single is None or not single.any()):
        return None

    def exact(y: Array, total: Array, unit: float) -> Array:
        found = np.zeros(y.shape, bool)
        if on_grid:
            # Every partial sum is a multiple of the grid, and none needs more digits.
            found |= np.asarray(total, np.float64) * 2.0 ** sum(known) * unit <= 1.0
        if single is not None and unit == 2.0**-24:
            with np.errstate(over="ignore"):
                found |= np.broadcast_to(single, y.shape) & (y.astype(np.float32) == y)
        return found

    return exact


def on_grid(x: Array) -> bool:
    """Whether these numbers have few binary places, and few before the point."""
    largest = float(np.max(np.abs(x), initial=0.0))
    return largest <= 2.0 ** (24 - _GRIDS[-1]) and _places(x) is not None


def at_most_one(x: Array, axis: int | tuple[int, ...] | None, *, keep: bool = True) -> Array | None:
    """Where at most one number along an axis is not zero; None where that is nowhere."""
    if not x.size or np.count_nonzero(x) > math.prod(x.shape) // 2:
        return None  # one of two and fewer: what is dense has no such row worth looking for
    return np.asarray(np.count_nonzero(x, axis=axis, keepdims=keep) <= 1)


def _places(x: Array) -> int | None:
    """Binary places behind the point that hold all of these numbers; None where that takes many."""
    flat = x.ravel(order="K")  # no copy of a matrix that is stored transposed
    with np.errstate(over="ignore", invalid="ignore"):
        for numbers in (flat[:: max(1, flat.size // _FEW)], flat):
            found = next((k for k in _GRIDS if _whole(numbers, k)), None)
            if found is None:
                return None
    return found


def _whole(numbers: Array, places: int) -> bool:
    scaled = np.asarray(numbers, np.float64) * 2.0**places
    return bool(np.all(scaled == np.rint(scaled)))
