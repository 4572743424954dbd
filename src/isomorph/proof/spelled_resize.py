"""Resizing by its definition, for every framework alike.

A linear interpolation is a product with constant weights, so it is linear in its data. Nearest
neighbors have a meaning where every element is repeated equally often, and where a position that
is computed in float32 gives the same: elsewhere rounding decides between two neighbors, and
kernels round differently.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from isomorph.proof.term import NoMeaningError, Term

if TYPE_CHECKING:
    from isomorph.proof.terms import Terms


def linear_along(t: Terms, x: Term, axis: int, size: int, *, scale: Fraction, centers: str) -> Term:
    """One axis with ``size`` elements; ``scale`` is the ratio of the new size to the old one.

    ``centers``: where the elements of the result lie, by ONNX's words.
    """
    axis, old = t.axis(x, axis), x.shape[axis]
    if size == old and scale == 1:
        return x
    if size == old:
        raise NoMeaningError("a ratio that changes no size, by which some runtimes do nothing")
    if size < 1 or old < 1 or scale <= 0:
        raise NoMeaningError("a size of zero")
    if centers == "align_corners" and scale * old != size:
        raise NoMeaningError("corners of a size that was rounded")
    weights = np.zeros((old, size))
    for place in range(size):
        at = _source(place, old, size, scale, centers)
        at = min(max(at, Fraction(0)), Fraction(old - 1))
        low = int(at)
        weights[low, place] += float(1 - (at - low))
        if at > low:
            weights[low + 1, place] += float(at - low)
    order = [each for each in range(x.rank) if each != axis] + [axis]
    rows = t.reshape(t.transpose(x, order), (-1, old))
    y = t.matmul(rows, t.constant(weights, x.dtype))
    shape = [*(x.shape[each] for each in order[:-1]), size]
    return t.transpose(t.reshape(y, shape), np.argsort(order).tolist())


def _source(place: int, old: int, size: int, scale: Fraction, centers: str) -> Fraction:
    """Where an element of the result lies in the source."""
    match centers:
        case "half_pixel":
            return (place + Fraction(1, 2)) / scale - Fraction(1, 2)
        case "pytorch_half_pixel":
            return (place + Fraction(1, 2)) / scale - Fraction(1, 2) if size > 1 else Fraction(0)
        case "asymmetric":
            return place / scale
        case "align_corners":
            return Fraction(place * (old - 1), size - 1) if size > 1 else Fraction(0)
        case _:
            raise NoMeaningError(f"coordinates by {centers}")


def repeated_along(t: Terms, x: Term, axis: int, size: int, scale: Fraction) -> Term:
    """One axis with each element as often as the whole ratio says."""
    axis = t.axis(x, axis)
    times = size // max(x.shape[axis], 1)
    if times < 1 or times * x.shape[axis] != size or scale != times:
        raise NoMeaningError("nearest neighbors at a ratio that is no whole number")
    places = np.arange(size)
    # Kernels multiply by the ratio in float32, and a product just below a whole number is the
    # neighbor before.
    rounded = np.floor(places.astype(np.float32) * np.float32(1.0 / times))
    if not np.array_equal(rounded, places // times):
        raise NoMeaningError("nearest neighbors that depend on rounding")
    return x if times == 1 else t.take(x, axis, np.repeat(np.arange(x.shape[axis]), times))


def resize_bilinear(
    t: Terms, x: Term, axis: int, size: int, *, corners: bool, halves: bool
) -> Term:
    """One axis by the options of TensorFlow and TFLite."""
    if corners and halves:
        raise NoMeaningError("corners and half pixels")
    centers = "align_corners" if corners else "half_pixel" if halves else "asymmetric"
    scale = Fraction(size, x.shape[t.axis(x, axis)])
    return linear_along(t, x, axis, size, scale=scale, centers=centers)
