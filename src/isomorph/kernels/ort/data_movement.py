"""ONNX Runtime's own forms of operators that move, choose or count."""

from __future__ import annotations

from typing import Any

import numpy as np

from isomorph.kernels.registry import kernel, standard
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array

MICROSOFT = "com.microsoft"

_UINT32 = 0xFFFFFFFF


@kernel("ExpandDims", domain=MICROSOFT)
def expand_dims(call: Call, x: Array, axis: Array) -> Array:
    """A new axis of length one."""
    return np.expand_dims(x, int(np.reshape(axis, ())))


@kernel("Trilu", domain=MICROSOFT)
def trilu(call: Call, x: Array, diagonal: Array | None = None) -> Array:
    """The upper or lower triangle of each matrix."""
    shift = 0 if diagonal is None else int(np.reshape(diagonal, ()))
    cut = np.triu if int(call.attributes.get("upper", 1)) else np.tril
    return np.asarray(cut(x, shift))


@kernel("Pad", domain=MICROSOFT)
def pad(call: Call, x: Array, pads: Array, value: Array | None = None) -> Array:
    """ONNX's Pad of opset 13; its pads may come as one row."""
    mode = call.attributes.get("mode", "constant")
    return np.asarray(standard(call, "Pad", x, np.reshape(pads, -1), value, version=13, mode=mode))


@kernel("Unique", domain=MICROSOFT)
def unique(call: Call, x: Array) -> tuple[Array, ...]:
    """In the order of first appearance; where each element went; how often each came."""
    values, first, which, counts = np.unique(
        x, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    results = (values[order], rank[np.reshape(which, -1)], counts[order])
    return (results[0], *(each.astype(np.int64) for each in results[1:]))


@kernel("Range", domain=MICROSOFT)
def value_range(call: Call, start: Array, limit: Array, delta: Array | None = None) -> Array:
    """From ``start`` in steps of ``delta`` (1) to before ``limit``."""
    first, end = np.reshape(start, ())[()], np.reshape(limit, ())[()]
    step = first.dtype.type(1) if delta is None else np.reshape(delta, ())[()]
    count = max(int(np.ceil((end - first) / step)), 0)
    return np.asarray(first + np.arange(count).astype(first.dtype) * step, dtype=first.dtype)


@kernel("GatherND", domain=MICROSOFT)
def gather_nd(call: Call, data: Array, indices: Array) -> Array:
    """Each row of ``indices`` addresses one slice."""
    return np.asarray(data[tuple(np.moveaxis(indices, -1, 0))])


@kernel("TorchEmbedding", domain=MICROSOFT)
def torch_embedding(
    call: Call,
    table: Array,
    indices: Array,
    padding: Array | None = None,
    scale: Any = None,  # noqa: ANN401
) -> Array:
    """Rows by index; padding and scaling matter to gradients alone."""
    return np.asarray(table[indices])


@kernel("UnfoldTensor", domain=MICROSOFT)
def unfold_tensor(call: Call, x: Array) -> Array:
    """Windows of one axis, as a new last axis."""
    given = call.attributes
    axis = int(given.get("dim", -1)) % x.ndim
    windows = np.lib.stride_tricks.sliding_window_view(x, int(given["size"]), axis=axis)
    steps = [slice(None)] * x.ndim
    steps[axis] = slice(None, None, int(given.get("step", 1)))
    return np.ascontiguousarray(windows[tuple(steps)])


@kernel("IsAllFinite", domain=MICROSOFT)
def is_all_finite(call: Call, *tensors: Array) -> Array:
    """Whether nothing is infinite or NaN, or only one of the two."""
    infinite = any(bool(np.isinf(each).any()) for each in tensors)
    undefined = any(bool(np.isnan(each).any()) for each in tensors)
    if int(call.attributes.get("isinf_only", 0)):
        return np.array(not infinite)
    if int(call.attributes.get("isnan_only", 0)):
        return np.array(not undefined)
    return np.array(not (infinite or undefined))


@kernel("BiasDropout", "BitmaskBiasDropout", domain=MICROSOFT)
def bias_dropout(  # noqa: PLR0917
    call: Call,
    x: Array,
    bias: Array,
    residual: Array | None = None,
    ratio: Array | None = None,
    training: Array | None = None,
) -> tuple[Array, ...]:
    """Dropout behind a bias and before a residual."""
    y, mask = _dropout(call, call.noise.rounded(x + bias), ratio, training)
    y = y if residual is None else call.noise.rounded(y + residual)
    return (y, mask)[: max(call.outputs, 1)]


@kernel("BitmaskDropout", domain=MICROSOFT)
def bitmask_dropout(
    call: Call, x: Array, ratio: Array | None = None, training: Array | None = None
) -> tuple[Array, ...]:
    """Dropout whose mask has one bit per element."""
    return _dropout(call, x, ratio, training)[: max(call.outputs, 1)]


def _dropout(
    call: Call, x: Array, ratio: Array | None, training: Array | None
) -> tuple[Array, Array]:
    seed = call.attributes.get("seed")
    stated = {} if seed is None else {"seed": seed}
    y, mask = standard(call, "Dropout", x, ratio, training, version=13, outputs=2, **stated)
    return np.asarray(y), _bits(mask) if call.op.startswith("Bitmask") else np.asarray(mask)


def _bits(mask: Array) -> Array:
    flat = np.reshape(mask, -1)
    filled = np.concatenate([flat, np.ones(-flat.size % 32, bool)])
    return np.packbits(filled, bitorder="little").view("<u4").astype(np.uint32)


@kernel("MurmurHash3", domain=MICROSOFT)
def murmur_hash_3(call: Call, x: Array) -> Array:
    """The 32-bit hash of each element's bytes, in its declared type."""
    seed = int(call.attributes.get("seed", 0)) & _UINT32
    declared = call.input_dtypes[0] if call.input_dtypes else None
    keyed = x.astype(declared) if declared in {"float32", "float64"} else x
    keys = [_bytes_of(item) for item in np.reshape(keyed, -1)]
    hashes = np.array([_murmur(key, seed) for key in keys], np.uint32).reshape(x.shape)
    return hashes if int(call.attributes.get("positive", 1)) else hashes.view(np.int32)


def _bytes_of(item: Any) -> bytes:  # noqa: ANN401
    if isinstance(item, bytes):
        return item
    return item.encode() if isinstance(item, str) else bytes(item.tobytes())


def _murmur(key: bytes, seed: int) -> int:
    state = seed
    whole = len(key) // 4 * 4
    for at in range(0, whole, 4):
        state ^= _mixed(int.from_bytes(key[at : at + 4], "little"))
        state = (_turned(state, 13) * 5 + 0xE6546B64) & _UINT32
    if key[whole:]:
        state ^= _mixed(int.from_bytes(key[whole:], "little"))
    state ^= len(key)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        state = ((state ^ (state >> shift)) * factor) & _UINT32
    return state ^ (state >> 16)


def _mixed(word: int) -> int:
    return (_turned((word * 0xCC9E2D51) & _UINT32, 15) * 0x1B873593) & _UINT32


def _turned(word: int, bits: int) -> int:
    return ((word << bits) | (word >> (32 - bits))) & _UINT32
