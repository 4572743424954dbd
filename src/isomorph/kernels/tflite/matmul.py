"""TFLite's matrix products and look-ups of rows."""

from __future__ import annotations

import math

import numpy as np

from isomorph.kernels.data_movement import integers
from isomorph.kernels.registry import kernel, standard
from isomorph.kernels.tflite.activations import TFLITE, fused
from isomorph.kernels.tflite.hybrid import seen_by_hybrid
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array


@kernel("FULLY_CONNECTED", domain=TFLITE)
def fully_connected(call: Call, x: Array, w: Array, b: Array | None = None) -> Array:
    """X·Wᵀ + b on rows of the weights' depth; the leading axes survive if an option asks for it."""
    layout = call.attributes.get("weights_format", "DEFAULT")
    if layout != "DEFAULT":
        raise ValueError(f"weights in the format {layout} are not understood")
    units, depth = w.shape
    rows = x.reshape(math.prod(x.shape) // max(depth, 1), depth)
    rows = seen_by_hybrid(call, rows)
    transposed = np.ascontiguousarray(w.T)
    y = standard(call, "Gemm", rows, transposed, b, version=13, alpha=1.0, beta=1.0)
    if call.attributes.get("keep_num_dims"):
        y = y.reshape(*x.shape[:-1], units)
    return fused(call, np.asarray(y))


@kernel("BATCH_MATMUL", domain=TFLITE)
def batch_matmul(call: Call, a: Array, b: Array) -> Array:
    """A product for each leading index, either side transposed on request."""
    if call.attributes.get("adj_x"):
        a = np.swapaxes(a, -1, -2)
    if call.attributes.get("adj_y"):
        b = np.swapaxes(b, -1, -2)
    if a.ndim >= 2:
        rows = seen_by_hybrid(call, a.reshape(-1, a.shape[-1]))
        a = rows.reshape(a.shape)
    return np.asarray(standard(call, "MatMul", a, b, version=13))


@kernel("EMBEDDING_LOOKUP", domain=TFLITE)
def embedding_lookup(call: Call, ids: Array, table: Array) -> Array:
    """Rows of the table."""
    return np.asarray(table[np.asarray(integers(ids), np.int64)])


@kernel("HASHTABLE_LOOKUP", domain=TFLITE)
def hashtable_lookup(call: Call, ids: Array, keys: Array, values: Array) -> tuple[Array, Array]:
    """Rows by sorted key; a row of zeros, and a miss, where there is no such key."""
    places = np.searchsorted(keys, ids)
    places = np.minimum(places, keys.size - 1)
    hits = keys[places] == ids
    rows = np.where(hits.reshape(-1, *(1,) * (values.ndim - 1)), values[places], 0)
    return np.asarray(rows, dtype=values.dtype), hits.astype(np.uint8)
