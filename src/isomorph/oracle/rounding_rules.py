"""What every oracle's noise has in common, whatever framework its nodes come from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.oracle.dtypes import HALVES, is_float
from isomorph.oracle.narrow_storage import disturbed_by_storage
from isomorph.oracle.noise import Array, NoiseSource, unit_roundoff

if TYPE_CHECKING:
    from isomorph.core.trace import Noise

ATTRIBUTE_UNIT = 2.0**-24
"""Model files store every number of an attribute as float32."""


def arithmetic_unit(dtype: str | None) -> float:
    """The unit roundoff of sums and products; halves are accumulated in float32."""
    return unit_roundoff("float32" if dtype in HALVES else dtype)


def dtype_in_run(dtype: str | None, noise: Noise | None) -> str | None:
    """The type that a run computes in where this one is declared: it may ask for a narrower."""
    narrow = noise.run_dtype if noise is not None else ""
    if narrow == "tf32" and dtype not in {"float32", "float64"}:
        return dtype  # only what is wider is read so
    return narrow if 0.0 < unit_roundoff(dtype) < unit_roundoff(narrow) else dtype


def is_real(value: Any) -> bool:  # noqa: ANN401
    """Whether this is an array of real numbers that a type had to round."""
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def stored_noise(
    value: Any,  # noqa: ANN401
    dtype: str | None,
    noise: NoiseSource,
    steps: float = 1.0,
) -> Any:  # noqa: ANN401
    """Uniform within one rounding of a narrow storage type; none where the value fits it.

    ``steps`` is the largest error of that rounding in units roundoff: one where it goes to the
    nearest number, two where the rest is cut off.
    """
    if not is_real(value):
        return value
    return disturbed_by_storage(value, str(dtype), noise.random, steps * noise.scale)


def own_noise(value: Any, noise: NoiseSource) -> Any:  # noqa: ANN401
    """One rounding of the value itself: the default for arithmetic without a rule of its own."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "c":
        return complex_noise(value, np.abs(value), noise)
    return noise.rounded(value, np.abs(value)) if is_real(value) else value


def complex_noise(value: Array, size: Array, noise: NoiseSource) -> Array:
    """One rounding of ``size`` in each part of a complex number."""
    return np.asarray(noise.rounded(value.real, size) + 1j * noise.rounded(value.imag, size))


def steepest(value: Array, axis: int) -> Array:
    """How much a tensor changes from an element to either neighbor along an axis, at most.

    What is read at a coordinate that was rounded moves by a share of it; the mean of both slopes
    would be nothing at a peak.
    """
    change = np.abs(np.diff(value, axis=axis))
    none = np.zeros_like(np.take(change, [0], axis=axis))
    ends = (none, change), (change, none)
    left, right = (np.concatenate(pair, axis=axis) for pair in ends)
    return np.asarray(np.maximum(left, right))


def disturbed_attributes(
    attributes: Mapping[str, Any], random: np.random.Generator
) -> dict[str, Any]:
    """Every inexact number multiplied by one rounding of float32.

    Numbers that are integers (1.0, 0.0, -2.0) are taken to be meant exactly.
    """
    return {name: _disturb(value, random) for name, value in attributes.items()}


def is_inexact_number(value: Any) -> bool:  # noqa: ANN401
    """Whether an attribute is, or holds, a number that ``disturbed_attributes`` moves."""
    if isinstance(value, tuple):
        return any(map(is_inexact_number, value))
    return isinstance(value, float) and math.isfinite(value) and not value.is_integer()


def difference(moved: Any, still: Any) -> Array | None:  # noqa: ANN401
    """How far the noise moved a value; None where that has no meaning."""
    if not (isinstance(moved, np.ndarray) and isinstance(still, np.ndarray)):
        return None
    if moved.shape != still.shape or not is_float(moved.dtype.name):
        return None
    with np.errstate(invalid="ignore", over="ignore"):
        gap = np.asarray(moved, np.float64) - np.asarray(still, np.float64)
    return np.where(np.isfinite(gap), gap, 0.0)


def _disturb(value: Any, random: np.random.Generator) -> Any:  # noqa: ANN401
    if isinstance(value, tuple):
        return tuple(_disturb(item, random) for item in value)
    if not is_inexact_number(value):
        return value
    return value * (1.0 + ATTRIBUTE_UNIT * float(random.standard_normal()))
