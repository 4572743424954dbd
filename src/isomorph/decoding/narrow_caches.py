"""Caches for two models of which one takes a narrower type."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.oracle.dtypes import is_float, numpy_dtype
from isomorph.oracle.noise import unit_roundoff

if TYPE_CHECKING:
    from isomorph.core.trace import Array


def in_narrower(value: Array, dtype: str | None) -> Array:
    """Return the numbers as a narrower float type holds them, in their own type.

    Numbers that the narrower type does not reach stay as they are: a model that takes it fails on
    them.
    """
    own = np.asarray(value)
    if dtype is None or not is_float(dtype) or not is_float(own.dtype.name):
        return value
    if unit_roundoff(dtype) <= unit_roundoff(own.dtype.name):
        return value
    with np.errstate(over="ignore"):
        rounded = own.astype(numpy_dtype(dtype)).astype(own.dtype)
    return np.where(np.isfinite(rounded), rounded, own)
