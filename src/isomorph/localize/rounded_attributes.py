"""Numbers of nodes that a converter rounded to a narrower type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from isomorph.core.stated_numbers import CLAMPED_IN_FLOAT16, UNDERFLOW_CLAMPED
from isomorph.oracle.noise import least_rounding, unit_roundoff


def is_rounded(expected: float, actual: float, dtype: str) -> bool:
    """Whether a number is what a narrow type holds of another one, or what stands for it there.

    Converters store small numbers that would vanish as the smallest of the type, and clamp large
    ones.
    """
    least = UNDERFLOW_CLAMPED * 2.0 * least_rounding(dtype)
    if abs(actual - expected) <= max(unit_roundoff(dtype) * abs(expected), least):
        return True
    large = min(abs(actual), abs(expected)) >= CLAMPED_IN_FLOAT16
    return large and np.sign(actual) == np.sign(expected)


def is_stored_rounded(expected: Mapping[str, Any], actual: Mapping[str, Any]) -> bool:
    """Whether a tensor that a node holds is the reference's, rounded to its narrower type.

    One too large to be described by its numbers is compared as a weight.
    """
    if expected.get("shape") != actual.get("shape"):
        return False
    wide, narrow = expected.get("values"), actual.get("values")
    if wide is None and narrow is None:
        return True
    if wide is None or narrow is None or len(wide) != len(narrow):
        return False
    return all(
        isinstance(one, float)
        and isinstance(other, float)
        and is_rounded(one, other, str(actual["dtype"]))
        for one, other in zip(wide, narrow, strict=True)
    )
