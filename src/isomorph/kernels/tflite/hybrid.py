"""Dynamic-range kernels: float activations, stored integers as weights.

The meaning is the float product with the dequantized weights. The kernel quantizes its
activations when it runs, so the step of that quantizer is noise of the execution.
"""

from __future__ import annotations

import numpy as np

from isomorph.oracle.call import Call
from isomorph.oracle.dtypes import is_float
from isomorph.oracle.noise import Array

_STORED = frozenset({"int8", "uint8", "int4", "int2"})


def is_hybrid(call: Call, activation: int = 0, weights: int = 1) -> bool:
    """Whether a float activation meets stored integers, by their declared types."""
    dtypes = call.input_dtypes
    if max(activation, weights) >= len(dtypes):
        return False
    return is_float(dtypes[activation]) and dtypes[weights] in _STORED


def seen_by_hybrid(
    call: Call, x: Array, *, activation: int = 0, weights: int = 1, asymmetric: bool | None = None
) -> Array:
    """``x`` as a hybrid kernel sees it; untouched where the operator is none, or without noise."""
    if not call.noise.run_time or not is_hybrid(call, activation, weights):
        return x
    return quantized_rows(call, x, axis=0, asymmetric=asymmetric)


def quantized_rows(call: Call, x: Array, *, axis: int = 0, asymmetric: bool | None = None) -> Array:
    """``x`` within half a step of an 8-bit quantizer over each slice of ``axis``.

    ``asymmetric`` None takes the operator's option. Zero is held exactly.
    """
    if not call.noise.run_time or x.size == 0:
        return x
    if asymmetric is None:
        asymmetric = bool(call.attributes.get("asymmetric_quantize_inputs", False))
    others = tuple(place for place in range(x.ndim) if place != axis)
    seen = np.where(np.isfinite(x), x, 0.0)
    low = np.minimum(seen.min(axis=others, keepdims=True), 0.0)
    high = np.maximum(seen.max(axis=others, keepdims=True), 0.0)
    # Symmetric: 127 steps on either side of zero, whichever side is the longer.
    half = (high - low) / 510.0 if asymmetric else np.maximum(high, -low) / 254.0
    draw = call.noise.random.uniform(-1.0, 1.0, x.shape)
    return np.asarray(np.where(x == 0, 0.0, x + draw * half), dtype=x.dtype)
