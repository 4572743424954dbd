"""Real numbers as a narrower float shows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from isomorph.core.trace import Array

FLOATS = ("bfloat16", "tf32", "float16")
"""The narrow floats that runtimes choose by themselves, from coarse to fine."""

_DIGITS = {"bfloat16": 8, "tf32": 11, "float16": 11}


def narrowed(array: Array, kind: str) -> Array:
    """The values rounded to a narrow float and back."""
    if kind == "tf32":
        # float32's exponent with float16's digits: no NumPy type, but its rounding is plain.
        return _to_digits(array, kind, np.rint)
    import ml_dtypes

    narrow = ml_dtypes.bfloat16 if kind == "bfloat16" else np.float16
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(array.astype(narrow).astype(array.dtype))


def cut_off(array: Array, kind: str) -> Array:
    """The values with the digits that a narrow float lacks dropped instead of rounded."""
    return _to_digits(array, kind, np.trunc)


def _to_digits(array: Array, kind: str, way: Callable[[Array], Array]) -> Array:
    mantissa, exponent = np.frexp(array.astype(np.float64))
    with np.errstate(over="ignore"):
        whole = way(np.ldexp(mantissa, _DIGITS[kind]))
        return np.asarray(np.ldexp(whole, exponent - _DIGITS[kind]))
