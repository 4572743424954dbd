"""Constants that a conversion may have rounded again: each moved by one rounding of its type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from isomorph.kernels.dtypes import is_float
from isomorph.kernels.held import Held, lifted
from isomorph.kernels.noise import generator, spread_evenly, unit_roundoff

if TYPE_CHECKING:
    from isomorph.core.trace import Noise

Array = NDArray[Any]


def rounded_again(name: str, held: Held, noise: Noise | None) -> Held:
    """The stored float constant as it is, or disturbed by one rounding where the noise names it."""
    if noise is None or not held.constant or name not in noise.constants:
        return held
    if not is_float(held.dtype) or not isinstance(held.data, np.ndarray):
        return held
    values, unit = lifted(held.data), unit_roundoff(held.dtype)
    draw = spread_evenly(generator(noise.seed, ("constant", name)), values.shape)
    shift = unit * values * draw
    shift = np.where(np.isfinite(shift) & ~stands_for_itself(values, unit), shift, 0.0)
    return Held(held.data, dtype=held.dtype, constant=True, shift=shift)


def stands_for_itself(values: Array, unit: float) -> Array:
    """Small whole numbers: an exponent of 2 is no real number that happened to be rounded to 2.

    Beside it, every power of a negative number is NaN. Small is what the type holds with half
    of its digits to spare: larger numbers are whole for want of digits.
    """
    with np.errstate(invalid="ignore"):
        return np.asarray((values == np.rint(values)) & (np.abs(values) <= unit**-0.5))
