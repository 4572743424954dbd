"""Whether numbers are a stored tensor times a factor of fewer elements, as one evaluation rounds.

A folded normalization scales each channel of a weight. The answer is that of ``rounding_bound``;
here it needs neither the whole product nor its bound: where the tensor is exact, the relative error
of a product is that of the factor, which has few elements.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.stated_numbers import LEAST_SIGNIFICANCE
from isomorph.oracle.noise import UNIT_ROUNDOFF
from isomorph.proof.rounding_bound import bounded, few_of, fitting, product

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.proof.rounding_bound import Bounded
    from isomorph.proof.term import Term

_FEWER = 4
"""How many times more elements the tensor has than its factor."""

_BLOCK = 1 << 15
"""Elements that are compared at once: their intermediate results stay in the CPU's cache."""

_MARGIN = 2.0**-40
"""More than what float64 rounds in a comparison; what is nearer to the limit is computed whole."""

_NARROW = 4
"""Bytes of a type whose numbers, times a factor beyond the next limit, are normal in float64."""
_SMALLEST_FACTOR = 2.0**-500


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaled:
    """A stored tensor, and its factor with its error, in the same rank."""

    tensor: Array
    factor: Bounded


def scaled(term: Term, known: dict[int, Bounded | None]) -> Scaled | None:
    """What a term multiplies, if it is a stored tensor with a factor of fewer elements."""
    if term.op != "mul" or not term.static:
        return None
    for tensor, factor in (term.inputs, term.inputs[::-1]):
        fewer = math.prod(factor.shape) * _FEWER <= math.prod(tensor.shape)
        if tensor.op != "constant" or tensor.shape != term.shape or not fewer:
            continue
        bound = bounded(factor, known)
        if bound is None:
            return None
        shape = (1,) * (term.rank - factor.rank) + factor.shape
        value, error = (np.asarray(each, np.float64).reshape(shape) for each in bound)
        return Scaled(tensor=np.asarray(tensor.value()), factor=(value, error))
    return None


def fitting_scaled(value: Array, of: Scaled, dtype: str) -> float | None:
    """How far numbers are off the product, relatively; None where they do not stand for it."""
    shape = of.tensor.shape
    numbers = np.reshape(value, shape)
    factor, error = (np.broadcast_to(each, shape) for each in of.factor)
    few = few_of(of.tensor.size)
    some = Scaled(tensor=of.tensor.flat[few], factor=(factor.flat[few], error.flat[few]))
    if _whole(numbers.flat[few], some, dtype) is None:
        return None
    reach, rows = _reach(of, dtype), max(1, _BLOCK * shape[0] // max(1, of.tensor.size))
    rest = tuple(axis for axis, size in enumerate(of.factor[0].shape) if size == 1)
    worst = 0.0
    for at in range(0, shape[0], rows):
        here = slice(at, at + rows)
        wide = factor[here] if of.factor[0].shape[0] == 1 else of.factor[0][here]
        found = None
        if reach is not None:
            allowed = reach if reach.shape[0] == 1 else reach[here]
            found = _within(numbers[here], of.tensor[here], wide, allowed, rest)
        if found is None:
            part = Scaled(tensor=of.tensor[here], factor=(factor[here], error[here]))
            found = _whole(numbers[here], part, dtype)
        if found is None:
            return None
        worst = max(worst, found)
    return worst


def _whole(value: Array, of: Scaled, dtype: str) -> float | None:
    """The answer by the product and its bound."""
    exact = of.tensor, np.broadcast_to(0.0, of.tensor.shape)
    with np.errstate(all="ignore"):
        return fitting(value, product(exact, of.factor, dtype), dtype)


def _reach(of: Scaled, dtype: str) -> Array | None:
    """How far off a product may be in any case, relatively, for each element of the factor.

    None where the factor is exact, or too small or too uncertain for a common limit.
    """
    factor, error = of.factor
    if of.tensor.dtype.itemsize > _NARROW or of.tensor.dtype.kind != "f":
        return None
    if not (error > 0).all() or not (np.abs(factor) > _SMALLEST_FACTOR).all():
        return None
    # One rounding of the product, and one of what is stored.
    reach = np.asarray(error / np.abs(factor) + 2 * UNIT_ROUNDOFF[dtype])
    if not (reach * (1 + _MARGIN) <= LEAST_SIGNIFICANCE).all():
        return None
    return reach * (1 - _MARGIN)


def _within(
    value: Array, tensor: Array, factor: Array, reach: Array, rest: tuple[int, ...]
) -> float | None:
    """The largest relative difference, if each is in reach; None where that remains to be seen."""
    with np.errstate(all="ignore"):
        expected = tensor.astype(np.float64)
        expected *= factor
        off = np.subtract(value, expected)
        np.divide(off, expected, out=off)
        np.abs(off, out=off)
        largest = off.max(axis=rest, keepdims=True)
        # Where the tensor is zero, the quotient is no number.
        return float(largest.max()) if (largest <= reach).all() else None
