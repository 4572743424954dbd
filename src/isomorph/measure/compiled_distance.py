"""All distance measures of two tensors in one compiled loop: the ``fast`` extra.

NumPy reads each block a dozen times; a compiled loop reads every pair once. The compiler takes
seconds, so this is for tensors on which NumPy would take longer.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

WORTH_COMPILING = 1 << 23
"""From this many pairs on NumPy takes longer than the compiler and the loop together."""

_TYPES = frozenset({"float32", "float64"})


@dataclass(slots=True)
class Sums:
    """Sums over the pairs of elements."""

    compared: int = 0
    differing: int = 0
    nonfinite: int = 0
    zeros: int = 0
    max_abs: float = -math.inf
    max_rel: float = -math.inf
    max_ulp: float = -math.inf
    worst: int = -1
    error: float = 0.0
    left: float = 0.0
    right: float = 0.0
    dot: float = 0.0


def worth_it(actual: NDArray[Any], expected: NDArray[Any]) -> bool:
    """Whether the loop can be compiled, supports the types, and is faster."""
    if actual.size < WORTH_COMPILING:
        return False
    return {str(actual.dtype), str(expected.dtype)} <= _TYPES and _installed()


def fused_sums(
    actual: NDArray[Any],
    expected: NDArray[Any],
    least: float,
    most: float,
    eps: float,
) -> Sums:
    """Return the sums over all pairs; these limits define the unit in the last place."""
    return Sums(*_compiled()(np.ravel(actual), np.ravel(expected), least, most, eps))


@cache
def _installed() -> bool:
    return importlib.util.find_spec("numba") is not None


@cache
def _compiled() -> Callable[..., tuple[Any, ...]]:
    import numba

    loop: Callable[..., tuple[Any, ...]] = numba.njit(nogil=True)(_loop)
    return loop


def _loop(
    actual: NDArray[Any], expected: NDArray[Any], least: float, most: float, eps: float
) -> tuple[Any, ...]:
    # One function, plain scalars: what the compiler keeps in registers.
    compared = differing = nonfinite = zeros = 0
    max_abs = max_rel = max_ulp = -math.inf
    worst = -1
    error = left = right = dot = 0.0
    for place in range(actual.size):
        a, e = np.float64(actual[place]), np.float64(expected[place])
        if not (math.isfinite(a) and math.isfinite(e)):
            if a != e and not (math.isnan(a) and math.isnan(e)):
                nonfinite += 1
                differing += 1
            continue
        compared += 1
        step, size = abs(a - e), abs(e)
        if step > 0.0:
            differing += 1
        elif a == 0.0 and math.copysign(1.0, a) != math.copysign(1.0, e):
            zeros += 1
        if step > max_abs:
            max_abs, worst = step, place
        if size > 0.0:
            max_rel = max(max_rel, step / size)
        ruler = math.ldexp(0.5, math.frexp(min(max(size, least), most))[1]) * eps
        max_ulp = max(max_ulp, step / ruler)
        error += step * step
        left += a * a
        right += size * size
        dot += a * e
    return (
        compared, differing, nonfinite, zeros, max_abs, max_rel, max_ulp, worst,
        error, left, right, dot,
    )  # fmt: skip
