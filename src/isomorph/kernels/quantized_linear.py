"""QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear, of ONNX and of ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np

from isomorph.kernels.quantized import (
    declared_dtype,
    dequantize,
    ideal_rounding,
    ideal_step,
    limits,
    reduced_range,
    requantize,
    spread,
)
from isomorph.kernels.registry import kernel
from isomorph.oracle.call import Call
from isomorph.oracle.dtypes import ONNX_DTYPES, numpy_dtype
from isomorph.oracle.noise import Array

MICROSOFT = "com.microsoft"


@kernel("QuantizeLinear")
@kernel("QuantizeLinear", domain=MICROSOFT)
def quantize_linear(call: Call, x: Array, scale: Array, zero_point: Array | None = None) -> Array:
    """Per tensor, per axis or per block, to integers of 2 to 32 bits or to float8."""
    stated = ONNX_DTYPES.get(int(call.attributes.get("output_dtype", 0) or 0))
    target = stated or declared_dtype(call, 2, zero_point)
    if x.dtype.kind not in "fV":
        x = x.astype(scale.dtype)  # int32 input; the division is the scale's
    return requantize(
        x,
        scale,
        zero_point,
        target,
        _axis(call, scale),
        call,
        block=_block(call),
        saturate=bool(call.attributes.get("saturate", 1)),
    )


@kernel("DequantizeLinear")
@kernel("DequantizeLinear", domain=MICROSOFT)
def dequantize_linear(call: Call, x: Array, scale: Array, zero_point: Array | None = None) -> Array:
    """The inverse; under disturbed quantizers stored weights get their ideal step here."""
    axis, block = _axis(call, scale), _block(call)
    real = dequantize(x, scale, zero_point, axis, block=block)
    # An integer held as float64 came out of a disturbed quantizer and has had its step.
    stored = limits(declared_dtype(call, 0, x)) is None or x.dtype != np.float64
    # Rows that were looked up in a stored table are as stored as the table.
    stored = stored and (call.constant or x.dtype.kind in "iu")
    if call.noise.quantizers and stored:
        dtype, granularity = declared_dtype(call, 0, x), None if np.size(scale) == 1 else axis
        # The quantizer of rows that were looked up is that of their table.
        least: float | Array = 0.0
        if reduced_range(_held(call, x, granularity), granularity, block):
            least = spread(scale, x.shape, axis, block)
        elif call.table is not None and granularity is None:
            table = dequantize(_ends(call.table), scale, zero_point, None)
            least = ideal_step(table, dtype)
        real = real + ideal_rounding(real, dtype, granularity, call, block=block, least_step=least)
    return call.noise.rounded(real).astype(_result_dtype(call, scale))


def _held(call: Call, x: Array, granularity: int | None) -> Array:
    """The integers that a quantizer stored: a whole table, where ``x`` is a part of it."""
    return x if call.table is None or granularity is not None else call.table


def _ends(table: Array) -> Array:
    """The smallest and the largest integer of a table."""
    return np.array([table.min(), table.max()]) if table.size else table


@kernel("DynamicQuantizeLinear")
def dynamic_quantize_linear(call: Call, x: Array) -> tuple[Array, Array, Array]:
    """To uint8 over the range of ``x`` with zero; an all-zero tensor has scale 1."""
    scale, zero_point = dynamic_grid(call, x)
    return requantize(x, scale, zero_point, "uint8", None, call), scale, zero_point


def dynamic_grid(call: Call, x: Array) -> tuple[Array, Array]:
    """Scale and zero point that a run-time quantizer to uint8 chooses for ``x``."""
    low = np.minimum(x.min(initial=0), 0).astype(x.dtype)
    high = np.maximum(x.max(initial=0), 0).astype(x.dtype)
    span = np.asarray((high - low) / x.dtype.type(255))
    scale = call.noise.rounded(np.where(span == 0, 1, span).astype(x.dtype))
    with np.errstate(all="ignore"):
        zero_point = np.clip(np.rint(np.nan_to_num(-low / scale)), 0, 255)
    return scale, np.asarray(zero_point).astype(np.uint8)


def _axis(call: Call, scale: Array) -> int | None:
    """None where one scale meets everything; ONNX's default axis is 1."""
    if np.size(scale) == 1 and not _block(call):
        return None
    axis = call.attributes.get("axis", 1)
    return 1 if axis is None else int(axis)


def _block(call: Call) -> int:
    return int(call.attributes.get("block_size", 0) or 0)


def _result_dtype(call: Call, scale: Array) -> np.dtype[Any]:
    """The scale's type, or the stated one; float64 stays, for then the oracle has lifted."""
    if scale.dtype == np.float64:
        return scale.dtype
    stated = ONNX_DTYPES.get(int(call.attributes.get("output_dtype", 0) or 0))
    if stated:
        return numpy_dtype(stated)
    return scale.dtype
