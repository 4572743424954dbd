"""How far the rounding of a run moves a result from its value in real numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from isomorph.bounds.interval import Array, Interval
from isomorph.core.stated_numbers import OPERATION_ROUNDINGS
from isomorph.oracle.dtypes import HALVES, holds, is_float, numpy_dtype


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeRounding:
    """The rounding of a float type: of storing a result, and of computing it.

    ``stored`` and ``computed`` are unit roundoffs: narrow types are computed in float32, as the
    runtimes do. ``least`` is the number below which a run may store zero: the smallest normal one,
    and the smallest of all of float16, whose small numbers no runtime drops. ``most`` is the
    largest number of the stored type, ``computed_most`` that of the computed one.
    """

    stored: float
    computed: float
    least: float
    most: float = math.inf
    computed_most: float = math.inf

    def results(
        self,
        result: Interval,
        size: Array | float = 0.0,
        terms: float = 1.0,
        *,
        keeps_sign: bool = False,
    ) -> Interval:
        """The bounds of a computed and stored result.

        ``size`` is the sum of the absolute values of what was added up, or what else the error is
        relative to besides the result; ``terms`` is how many roundings follow each other. An
        operation that ``keeps_sign`` never computes a negative number for one that is not.
        """
        error = error_of_terms(terms, self.computed)
        with np.errstate(invalid="ignore", over="ignore"):
            lower = result.lower - error * np.maximum(np.abs(result.lower), size)
            upper = result.upper + error * np.maximum(np.abs(result.upper), size)
        if keeps_sign:
            lower = np.where(result.lower >= 0.0, np.maximum(lower, 0.0), lower)
            upper = np.where(result.upper <= 0.0, np.minimum(upper, 0.0), upper)
        return self.kept(result.moved_to(lower, upper))

    def kept(self, result: Interval) -> Interval:
        """The bounds of a result once it is stored: one rounding, which never passes zero."""
        with np.errstate(invalid="ignore", over="ignore"):
            lower = result.lower - (self.stored * np.abs(result.lower) + self.least)
            upper = result.upper + (self.stored * np.abs(result.upper) + self.least)
        return result.moved_to(
            np.where(result.lower >= 0.0, np.maximum(lower, 0.0), lower),
            np.where(result.upper <= 0.0, np.minimum(upper, 0.0), upper),
        )

    def computable(self, result: Interval, reach: Array | float) -> Interval:
        """The result, infinite where a number of size ``reach`` on its way may not fit.

        Two such numbers of different signs add up to NaN.
        """
        lost = np.broadcast_to(~(np.asarray(reach) <= self.computed_most), result.shape)
        if not lost.any():
            return result
        return Interval(
            np.where(lost, -np.inf, result.lower),
            np.where(lost, np.inf, result.upper),
            may_be_nan=True,
        )


def error_of_terms(terms: float, unit: float) -> float:
    """The relative error of so many roundings in any order, of the run and of the evaluation.

    (1 + u)^n − 1 holds for every n, unlike n·u / (1 − n·u).
    """
    with np.errstate(over="ignore"):
        return float(2.0 * np.expm1((terms + OPERATION_ROUNDINGS) * np.log1p(unit)))


def type_rounding(declared: str | None, target: str | None) -> TypeRounding:
    """That of a tensor of a declared type in a run that stores it as ``target``, if narrower."""
    stored = declared if is_float(declared) else "float32"
    assert stored is not None
    if target is not None and is_float(target) and holds(stored, target):
        stored = target
    computed = "float32" if stored in HALVES else stored
    facts, wide = _facts(stored), _facts(computed)
    return TypeRounding(
        stored=float(facts.eps) / 2.0,
        computed=float(wide.eps) / 2.0,
        least=float(facts.smallest_subnormal if stored == "float16" else facts.smallest_normal),
        most=float(facts.max),
        computed_most=float(wide.max),
    )


def largest(dtype: str) -> float:
    """The largest number of a float type."""
    return float(_facts(dtype).max)


def overflow_begins(dtype: str) -> float:
    """The number from which on rounding to nearest gives an infinity."""
    most, eps = float(_facts(dtype).max), float(_facts(dtype).eps)
    return most + most / (2.0 - eps) * eps / 2.0


def rounds_to_zero(value: Array, dtype: str) -> Array:
    """Whether each number is stored as zero, and is none."""
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray((value != 0.0) & (value.astype(numpy_dtype(dtype)) == 0.0))


def rounded_constant(
    value: Array, dtype: str | None, target: str | None, *, overflowing: bool = False
) -> Interval:
    """A constant as either type stores it.

    A number beyond the type is an overflow of its own. What follows is computed with the number,
    or, if ``overflowing``, with the infinity that a run has.
    """
    wide = np.asarray(value, np.float64)
    if not is_float(target) or not is_float(dtype) or not holds(str(dtype), str(target)):
        return Interval(wide, wide)
    with np.errstate(over="ignore"):
        narrow = wide.astype(numpy_dtype(str(target))).astype(np.float64)
    narrow = narrow if overflowing else np.where(np.isfinite(narrow), narrow, wide)
    return Interval(np.minimum(wide, narrow), np.maximum(wide, narrow))


def _facts(dtype: str) -> Any:  # noqa: ANN401
    return ml_dtypes.finfo(numpy_dtype(dtype))
