"""Noise that belongs to no single kernel: options, storage, and what moves among constants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from isomorph.kernels.dtypes import is_float
from isomorph.kernels.noise import Array, Rounding, generator, unit_roundoff

_OPTION_UNIT = 2.0**-24
"""The file stores every number of an operator's options as float32."""


def shaken(options: Mapping[str, Any], seed: int, site: tuple[int, ...]) -> dict[str, Any]:
    """Every inexact number multiplied by one rounding; whole numbers are meant exactly."""
    random = generator(seed, (*site, "attributes"))
    return {
        name: value * (1.0 + _OPTION_UNIT * random.standard_normal())
        if isinstance(value, float) and np.isfinite(value) and value != round(value)
        else value
        for name, value in options.items()
    }


def stored_noise(value: Any, dtype: str | None, source: Rounding) -> Any:  # noqa: ANN401
    """Uniform within one rounding of the storage type, subnormals included."""
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
        return value
    step = unit_roundoff(dtype) * np.abs(value)
    if dtype == "float16":
        step = np.maximum(step, 2.0**-25) * (value != 0)
    draw = source.random.uniform(-1.0, 1.0, value.shape)
    return np.asarray(value + np.where(np.isfinite(step), step, 0.0) * draw, dtype=value.dtype)


def difference(moved: Any, still: Any) -> Array | None:  # noqa: ANN401
    """How far the noise moved a result; None where it cannot have."""
    if not (isinstance(moved, np.ndarray) and isinstance(still, np.ndarray)):
        return None
    if moved.shape != still.shape or not is_float(moved.dtype.name):
        return None
    with np.errstate(invalid="ignore", over="ignore"):
        gap = np.asarray(moved, np.float64) - np.asarray(still, np.float64)
    return np.where(np.isfinite(gap), gap, 0.0) if np.any(gap) else None
