"""FakeQuant: float numbers put on the grid of an integer type, and back."""

from __future__ import annotations

import numpy as np

from isomorph.frameworks.tensorflow.oracle_ops import tf_kernel
from isomorph.kernels.quantized import ideal_rounding
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array


@tf_kernel("FakeQuantWithMinMaxArgs")
def fake_quant_fixed(call: Call, x: Array) -> Array:
    """With a range that is written in the node."""
    return _on_grid(call, x, call.attributes["min"], call.attributes["max"], None)


@tf_kernel("FakeQuantWithMinMaxVars")
def fake_quant(call: Call, x: Array, low: Array, high: Array) -> Array:
    """With one range for the whole tensor."""
    return _on_grid(call, x, low, high, None)


@tf_kernel("FakeQuantWithMinMaxVarsPerChannel")
def fake_quant_by_channel(call: Call, x: Array, low: Array, high: Array) -> Array:
    """With a range for each slice of the last axis."""
    return _on_grid(call, x, low, high, -1)


def _on_grid(
    call: Call, x: Array, low: Array | float, high: Array | float, axis: int | None
) -> Array:
    bits = int(call.attributes["num_bits"])
    least = 1 if call.attributes["narrow_range"] else 0
    # The grid is the model's own: it is laid in float32, wherever its ends come from.
    lowest, highest, scale = _nudged(
        np.asarray(low, np.float32), np.asarray(high, np.float32), least, (1 << bits) - 1
    )
    if call.noise.quantizers:
        # A grid that begins or ends at zero is a ReLU too; any other clipping is loss.
        kept = np.where(lowest == 0, np.maximum(x, 0.0), x)
        kept = np.where(highest == 0, np.minimum(kept, 0.0), kept)
        return np.asarray(kept + ideal_rounding(kept, f"uint{bits}", axis, call))
    inside = np.clip(x, lowest, highest)
    with np.errstate(divide="ignore", invalid="ignore"):
        zero = np.floor(-lowest / scale + 0.5)
        steps = np.floor(call.noise.rounded(inside - lowest) / scale - zero + 0.5)
    empty = (np.asarray(low) == 0) & (np.asarray(high) == 0)
    return call.noise.rounded(np.asarray(np.where(empty, 0.0, steps * scale), dtype=x.dtype))


def _nudged(low: Array, high: Array, least: int, most: int) -> tuple[Array, Array, Array]:
    """The range moved so that zero lies on the grid: its ends and its step, in float64."""
    first, last = np.float32(least), np.float32(most)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = (high - low) / (last - first)
        zero = first - low / scale
        zero = np.where(zero < first, first, np.where(zero > last, last, np.floor(zero + 0.5)))
    zero = zero.astype(np.float32)
    ends = ((first - zero) * scale, (last - zero) * scale, scale)
    lowest, highest, step = (np.asarray(end, np.float64) for end in ends)
    return lowest, highest, step
