"""Narrow float weights whose numbers are all off alike: by one factor, or by whole units.

One rounding moves each number of a weight up or down by half a unit in the last place. A factor or
a number of units that explains all numbers of a weight, where rounding does not, is another weight.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.chance import FALSE_ALARM
from isomorph.core.stated_numbers import BEYOND_ROUNDINGS, OPERATION_ROUNDINGS
from isomorph.match.rounded_weights import narrowed
from isomorph.match.rounding_grids import unlikely_by_chance
from isomorph.oracle.noise import least_rounding, unit_roundoff

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.match.element_bounds import Source

_FLOAT32 = unit_roundoff("float32")


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedFloats:
    """The factor to the right numbers, or how many units away from zero all numbers are."""

    beyond: Array = field(repr=False)
    factor: float = 1.0
    units: float = 0.0

    @property
    def moved(self) -> Array:
        """All numbers of the weight."""
        return np.ones(self.beyond.shape, bool)

    @property
    def too_large(self) -> bool:
        """Whether the numbers are too large, and not too small."""
        return self.factor < 1.0 or self.units > 0.0

    @property
    def text(self) -> str:
        """What is wrong with the weight, as text for a report."""
        if self.units:
            return f"all are about {self.units:+.0f} units in the last place off"
        return f"all are {1.0 / self.factor:.6g} times the reference's"


def moved_floats(expected: Array, actual: Array, dtype: str, source: Source) -> MovedFloats | None:
    """Return how all numbers of a narrow weight are off; None where rounding may explain them."""
    half = unit_roundoff(dtype)
    if half <= _FLOAT32 or half < unit_roundoff(source.dtype):
        return None
    if not (np.isfinite(expected).all() and np.isfinite(actual).all()):
        return None
    known = (expected != 0.0) & (actual != 0.0)  # what has vanished tells nothing
    if np.any(actual[expected == 0.0] != 0.0) or np.any(np.sign(expected * actual) < 0.0):
        return None
    right, found = np.abs(expected[known]), np.abs(actual[known])
    if not right.size or (dtype != "bfloat16" and _from_bfloat16(actual)):
        return None
    spacing = 2.0 * half * 2.0 ** np.floor(np.log2(found))
    spacing = np.maximum(spacing, 2.0 * least_rounding(dtype))
    relative = 2.0 * OPERATION_ROUNDINGS * _FLOAT32 + source.relative_bound
    bound = np.broadcast_to(source.error_bound, expected.shape)[known]
    error = relative * right + source.half_step + bound + 0.5 * spacing
    if unit_roundoff(source.dtype) > _FLOAT32:
        error = error + 0.5 * spacing  # its own rounding
    wrong = np.abs(found - right) > BEYOND_ROUNDINGS * error
    if not wrong.any():
        return None
    beyond = np.zeros(expected.shape, bool)
    beyond[known] = wrong
    factor = _common((found - error) / right, (found + error) / right, 1.0, wrong)
    if factor is not None:
        return MovedFloats(beyond=beyond, factor=1.0 / factor)
    # Beyond a power of two units have another size.
    same = np.floor(np.log2(found)) == np.floor(np.log2(right))
    apart, around = (found - right) / spacing, np.where(same, error / spacing, np.inf)
    units = _common(apart - around, apart + around, 0.0, wrong & same)
    return None if units is None else MovedFloats(beyond=beyond, units=units)


def _common(low: Array, high: Array, stated: float, wrong: Array) -> float | None:
    """Return the number in all intervals, where chance does not explain that there is one."""
    least, most = float(low.max()), float(high.min())
    if least > most or least <= stated <= most:
        return None
    number = 0.5 * (least + most)
    unlikely = unlikely_by_chance(high - low, np.asarray(abs(number - stated)), wrong)
    enough = float(np.sum(unlikely) - np.max(unlikely)) >= -math.log(FALSE_ALARM)
    return number if enough else None


def _from_bfloat16(values: Array) -> bool:
    """Whether numbers were rounded to bfloat16 before they were stored."""
    return np.array_equal(narrowed(values, "bfloat16"), values)
