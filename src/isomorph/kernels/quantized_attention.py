"""Attention and embedding whose operands are stored as integers."""

from __future__ import annotations

import numpy as np

from isomorph.kernels.ort.attention import attend_projected
from isomorph.kernels.ort.normalization import embed, layer_norm, row_lengths
from isomorph.kernels.quantized import centered_weights, ideal_rounding, limits, unpacked
from isomorph.kernels.quantized_products import matmul_integer_to_float
from isomorph.kernels.registry import kernel
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array

MICROSOFT = "com.microsoft"


@kernel("QAttention", domain=MICROSOFT)
def q_attention(  # noqa: PLR0917
    call: Call,
    x: Array,
    weights: Array,
    bias: Array,
    x_scale: Array,
    w_scale: Array,
    mask: Array | None = None,
    x_zero: Array | None = None,
    w_zero: Array | None = None,
    past: Array | None = None,
) -> tuple[Array, ...]:
    """Attention behind a quantized projection."""
    projected = matmul_integer_to_float(call, x, weights, x_scale, w_scale, x_zero, w_zero, bias)
    return attend_projected(call, projected, mask, past, None)


@kernel("QEmbedLayerNormalization", domain=MICROSOFT)
def q_embed_layer_normalization(  # noqa: PLR0917
    call: Call,
    words: Array,
    segments: Array | None,
    word_table: Array,
    position_table: Array,
    segment_table: Array | None,
    gamma: Array,
    beta: Array,
    mask: Array | None,
    *grids: Array | None,
) -> tuple[Array, Array]:
    """EmbedLayerNormalization of integers; five scales and then five zero points follow."""
    stored = (word_table, position_table, segment_table, gamma, beta)
    scales, zeros = grids[:5], grids[5:]
    reals = [
        _real(call, each, scale, zero)
        for each, scale, zero in zip(stored, scales, zeros, strict=True)
    ]
    total = embed(call, (words, segments), (_sure(reals[0]), _sure(reals[1]), reals[2]), None)
    y = layer_norm(call, total, _sure(reals[3]), _sure(reals[4]))[0]
    return y, row_lengths(words, mask)


@kernel("GatherBlockQuantized", domain=MICROSOFT)
def gather_block_quantized(
    call: Call, data: Array, indices: Array, scales: Array, zero_points: Array | None = None
) -> Array:
    """Rows of a table that is stored in blocks, dequantized; an index out of range gives zeros.

    Real numbers in the place of the table are these.
    """
    given = call.attributes
    if data.dtype.kind == "f":
        return _taken(data, indices, int(given.get("gather_axis", 0)))
    bits, block = int(given.get("bits", 4)), int(given.get("block_size", 128))
    zeros: Array | float = 0.0
    if data.dtype == np.uint8:
        data = unpacked(data, bits)
        zeros = 2.0 ** (bits - 1)
        zero_points = None if zero_points is None else unpacked(zero_points, bits)
    axis = int(given.get("quantize_axis", 1)) % data.ndim
    block = block or data.shape[axis]
    which = np.arange(data.shape[axis]) // block
    if zero_points is not None:
        zeros = zero_points.astype(np.float64).take(which, axis=axis)
    table = (data.astype(np.float64) - zeros) * scales.astype(np.float64).take(which, axis=axis)
    if call.noise.quantizers:
        kind = f"uint{bits}" if limits(data.dtype.name) else data.dtype.name
        table = table + ideal_rounding(table, kind, axis, call, block=block)
    return _taken(call.noise.rounded(table), indices, int(given.get("gather_axis", 0))).astype(
        scales.dtype
    )


def _taken(table: Array, indices: Array, axis: int) -> Array:
    axis %= table.ndim
    length = table.shape[axis]
    inside = (indices >= -length) & (indices < length)
    rows = table.take(np.where(inside, indices, 0), axis=axis)
    shape = [1] * axis + list(indices.shape) + [1] * (table.ndim - axis - 1)
    return np.asarray(np.where(inside.reshape(shape), rows, 0.0))


def _real(
    call: Call, stored: Array | None, scale: Array | None, zero: Array | None
) -> Array | None:
    if stored is None or scale is None:
        return None
    reals = centered_weights(stored, zero, None, call) * np.reshape(scale, ()).astype(np.float64)
    return np.asarray(call.noise.rounded(reals).astype(scale.dtype))


def _sure(real: Array | None) -> Array:
    if real is None:
        raise ValueError("a table or parameter that may not be absent is absent")
    return real
