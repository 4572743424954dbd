"""Quantizers of programs that are quantized without a delegate."""

from __future__ import annotations

from typing import Any

import numpy as np

from isomorph.kernels.executorch.arithmetic import edge, onnx
from isomorph.kernels.quantized import requantize
from isomorph.oracle.call import Call
from isomorph.oracle.dtypes import numpy_dtype
from isomorph.oracle.noise import Array


@edge("quantize_per_tensor", "quantize_per_channel", "quantize_per_token")
def quantize(call: Call, x: Array, *grid: Array) -> Array:
    """Onto a grid; a narrower range than the type's ends where it is stated."""
    scale, zero = _grid(call, grid, x)
    target = call.attributes["target"]
    y = requantize(x, scale, zero, target, call.attributes.get("axis"), call)
    if call.noise.quantizers:
        return y
    low, high = call.attributes["quant_min"], call.attributes["quant_max"]
    return np.clip(y, low, high).astype(numpy_dtype(target))


@edge("dequantize_per_tensor", "dequantize_per_channel", "dequantize_per_token")
def dequantize(call: Call, x: Array, *grid: Array) -> Any:  # noqa: ANN401
    """The real numbers that integers stand for."""
    scale, zero = _grid(call, grid, x)
    axis = call.attributes.get("axis")
    zero = np.asarray(zero).astype(call.input_dtypes[0] or "int8")
    return onnx(call, "DequantizeLinear", x, scale, zero, axis=0 if axis is None else axis)


def _grid(call: Call, grid: tuple[Array, ...], x: Array) -> tuple[Array, Array]:
    """Scale and zero point: tensors, or stated numbers."""
    if grid:
        scale, zero = np.asarray(grid[0]), np.asarray(grid[1] if len(grid) > 1 else 0)
        return (
            (scale, zero)
            if scale.ndim > 1 or scale.size > 1
            else (scale.reshape(()), zero.reshape(()))
        )
    return np.asarray(call.attributes["scale"]), np.asarray(call.attributes["zero_point"])
