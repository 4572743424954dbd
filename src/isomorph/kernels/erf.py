"""The error function to the last few bits of float64, with NumPy alone.

W. J. Cody, "Rational Chebyshev approximations for the error function", Mathematics of
Computation 23 (1969): three ranges, each a quotient of two polynomials.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_SMALL_P = (
    1.85777706184603153e-1, 3.16112374387056560e0, 1.13864154151050156e2,
    3.77485237685302021e2, 3.20937758913846947e3,
)  # fmt: skip
_SMALL_Q = (
    1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3,
    2.84423683343917062e3,
)  # fmt: skip
_MIDDLE_P = (
    2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0,
    6.61191906371416295e1, 2.98635138197400131e2, 8.81952221241769090e2,
    1.71204761263407058e3, 2.05107837782607147e3, 1.23033935479799725e3,
)  # fmt: skip
_MIDDLE_Q = (
    1.0, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2,
    1.62138957456669019e3, 3.29079923573345963e3, 4.36261909014324716e3,
    3.43936767414372164e3, 1.23033935480374942e3,
)  # fmt: skip
_LARGE_P = (
    1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1,
    1.25781726111229246e-1, 1.60837851487422766e-2, 6.58749161529837803e-4,
)  # fmt: skip
_LARGE_Q = (
    1.0, 2.56852019228982242e0, 1.87295284992346725e0, 5.27905102951428412e-1,
    6.05183413124413191e-2, 2.33520497626869185e-3,
)  # fmt: skip

_SMALLEST = 0.46875
_ONE_FROM = 6.0
"""From here on erf is 1 to the last bit of float64."""


def erf(x: Array) -> Array:
    """2/√π · ∫₀ˣ exp(−t²) dt; in float32 for float32, else in float64."""
    wide = np.asarray(x, dtype=np.float64)
    size = np.abs(wide)
    y = np.ones_like(wide)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        near = size <= _SMALLEST
        t = wide[near]
        y[near] = t * _horner(_SMALL_P, t * t) / _horner(_SMALL_Q, t * t)
        middle = (size > _SMALLEST) & (size <= 4.0)
        t = size[middle]
        tail = np.exp(-t * t) * _horner(_MIDDLE_P, t) / _horner(_MIDDLE_Q, t)
        y[middle] = np.copysign(1.0 - tail, wide[middle])
        far = (size > 4.0) & (size < _ONE_FROM)
        t = size[far]
        y[far] = np.copysign(1.0 - np.exp(-t * t) / t * _series(t), wide[far])
        beyond = size >= _ONE_FROM
        y[beyond] = np.sign(wide[beyond])
    y[np.isnan(wide)] = np.nan
    return y.astype(x.dtype if x.dtype.kind == "f" else np.float64, copy=False)


def _series(t: Array) -> Array:
    inverse = 1.0 / (t * t)
    ratio = inverse * _horner(_LARGE_P, inverse) / _horner(_LARGE_Q, inverse)
    return np.asarray(1.0 / np.sqrt(np.pi) - ratio)


def _horner(coefficients: tuple[float, ...], x: Array) -> Array:
    y = np.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        y = y * x + coefficient
    return y
