"""Rotary position embedding, and the grouped attention that is built on it."""

from __future__ import annotations

import numpy as np

from isomorph.kernels.attention import join_heads, split_heads
from isomorph.kernels.ort.attention import product, refuse
from isomorph.kernels.registry import kernel
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array

MICROSOFT = "com.microsoft"


def rotate(
    call: Call, x: Array, positions: Array, cosines: Array, sines: Array, *, interleaved: bool
) -> Array:
    """Turn pairs of (batch, head, position, size) by the angles of their positions.

    A pair is two neighbors when ``interleaved``, else an element and its partner half the
    rotated width further. Elements beyond the rotated width stay.
    """
    half = cosines.shape[-1]
    cosine, sine = (table[positions][:, None] for table in (cosines, sines))
    turned, rest = x[..., : 2 * half], x[..., 2 * half :]
    if interleaved:
        first, second = turned[..., 0::2], turned[..., 1::2]
    else:
        first, second = turned[..., :half], turned[..., half:]
    size = np.abs(first) + np.abs(second)
    one = call.noise.rounded(first * cosine - second * sine, size)
    two = call.noise.rounded(second * cosine + first * sine, size)
    if interleaved:
        joined = np.stack([one, two], axis=-1).reshape(turned.shape)
    else:
        joined = np.concatenate([one, two], axis=-1)
    return np.concatenate([joined, rest], axis=-1)


@kernel("RotaryEmbedding", domain=MICROSOFT)
def rotary_embedding(call: Call, x: Array, positions: Array, cosines: Array, sines: Array) -> Array:
    """Over 3 axes (batch, position, heads·size) or 4 (batch, head, position, size)."""
    given = call.attributes
    if given.get("is_packed_batching", 0):
        raise refuse(call, "packed batches")
    heads = int(given.get("num_heads", 0))
    by_head = x
    if x.ndim == 3:
        heads = heads or x.shape[-1] // (2 * cosines.shape[-1])
        by_head = split_heads(x, heads)
    batch, _, length, _ = by_head.shape
    if positions.size == 1:
        places = np.tile(int(positions.reshape(())) + np.arange(length), (batch, 1))
    else:
        places = positions.reshape(batch, length)
    interleaved = bool(given.get("interleaved", 0))
    y = rotate(call, by_head, places, cosines, sines, interleaved=interleaved)
    y = np.asarray(y * float(given.get("scale", 1.0) or 1.0))
    return join_heads(y) if x.ndim == 3 else y


@kernel("GroupQueryAttention", domain=MICROSOFT)
def group_query_attention(  # noqa: PLR0917
    call: Call,
    query: Array,
    key: Array | None,
    value: Array | None,
    past_key: Array | None,
    past_value: Array | None,
    last: Array,
    total: Array,
    cosines: Array | None = None,
    sines: Array | None = None,
    positions: Array | None = None,
    attention_bias: Array | None = None,
    sink: Array | None = None,
    key_scale: Array | None = None,
    value_scale: Array | None = None,
    query_norm: Array | None = None,
    key_norm: Array | None = None,
) -> tuple[Array, ...]:
    """Causal attention whose keys and values are shared by groups of heads.

    ``last`` is each row's last key position, ``total`` the longest row's length. The state has
    space for the longest row; what a row does not fill is zero.
    """
    given = call.attributes
    if key_scale is not None or value_scale is not None or given.get("sliding_window_cache", 0):
        raise refuse(call, "a quantized or windowed cache")
    q, k, v = _grouped_heads(call, query, key, value)
    batch, _, length, size = q.shape
    if query_norm is not None and key_norm is not None:
        q, k = (_head_norm(call, x, gamma) for x, gamma in ((q, query_norm), (k, key_norm)))
    longest = int(np.reshape(total, ())[()])
    ends = np.reshape(last, -1).astype(np.int64) + 1
    starts = np.zeros(batch, np.int64) if longest == length else ends - length
    if given.get("do_rotary", 0) and cosines is not None and sines is not None:
        places = starts[:, None] + np.arange(length) if positions is None else positions
        interleaved = bool(given.get("rotary_interleaved", 0))
        q, k = (rotate(call, x, places, cosines, sines, interleaved=interleaved) for x in (q, k))
    kept = past_key.shape[2] if past_key is not None else 0
    keys, values = (
        _state(past, new, starts, max(kept, longest))
        for past, new in ((past_key, k), (past_value, v))
    )
    scale = float(given.get("scale") or 1.0 / np.sqrt(size))
    hidden = _hidden(call, starts, length, longest)
    y, seen = _attend_groups(
        call, q, keys[:, :, :longest], values[:, :, :longest], scale, hidden, attention_bias, sink
    )
    return (join_heads(y), keys, values, seen)[: max(call.outputs, 1)]


def _grouped_heads(call: Call, query: Array, key: Array | None, value: Array | None) -> list[Array]:
    heads, shared = int(call.attributes["num_heads"]), int(call.attributes["kv_num_heads"])
    if key is None or value is None:
        size = query.shape[-1] // (heads + 2 * shared)
        query, key, value = np.split(query, [heads * size, (heads + shared) * size], axis=-1)
    return [split_heads(query, heads), split_heads(key, shared), split_heads(value, shared)]


def _head_norm(call: Call, x: Array, gamma: Array) -> Array:
    epsilon = float(call.attributes.get("qk_norm_epsilon", np.float32(1e-6)))
    power = call.noise.rounded(np.mean(x * x, axis=-1, keepdims=True))
    return np.asarray(call.noise.rounded(x / np.sqrt(power + epsilon) * gamma))


def _state(past: Array | None, new: Array, starts: Array, total: int) -> Array:
    batch, heads, length, size = new.shape
    state = np.zeros((batch, heads, total, size), new.dtype)
    for row, start in enumerate(starts):
        if past is not None:
            state[row, :, : past.shape[2]] = past[row]
        state[row, :, start : start + length] = new[row]
    return state


def _hidden(call: Call, starts: Array, length: int, longest: int) -> Array:
    """(batch, 1, position, key): the later keys, and those before a local window."""
    place = (starts[:, None] + np.arange(length))[:, None, :, None]
    keys = np.arange(longest)
    hidden = keys > place if int(call.attributes.get("causal", 1)) else keys > place.max()
    window = int(call.attributes.get("local_window_size", -1))
    return hidden | (keys <= place - window) if window > 0 else hidden


def _attend_groups(  # noqa: PLR0917
    call: Call,
    query: Array,
    keys: Array,
    values: Array,
    scale: float,
    hidden: Array,
    bias: Array | None,
    sink: Array | None,
) -> tuple[Array, Array]:
    """The result, and what ``qk_output`` asks for: 1 the scores, 2 the weights, hidden ones 0."""
    repeats = query.shape[1] // keys.shape[1]
    keys, values = np.repeat(keys, repeats, axis=1), np.repeat(values, repeats, axis=1)
    noise = call.noise
    scores = noise.rounded(product(call, query, np.swapaxes(keys, -1, -2)) * scale)
    cap = float(call.attributes.get("softcap", 0.0) or 0.0)
    if cap > 0:
        scores = noise.rounded(cap * np.tanh(scores / cap), cap)
    if bias is not None:
        scores = noise.rounded(scores + bias)
    scores = np.where(hidden, -np.inf, scores)
    extra = _sink(call, sink, query.shape[1])
    peak = scores.max(axis=-1, keepdims=True)
    peak = peak if extra is None else np.maximum(peak, extra)
    powers = noise.rounded(np.exp(scores - peak))
    sums = powers.sum(axis=-1, keepdims=True)
    sums = sums if extra is None else sums + np.exp(extra - peak)
    weights = noise.rounded(powers / noise.rounded(sums))
    asked = int(call.attributes.get("qk_output", 0))
    seen = np.where(hidden, 0.0, scores) if asked == 1 else weights
    return product(call, weights, values), seen


def _sink(call: Call, sink: Array | None, heads: int) -> Array | None:
    """What stands beside the scores in the denominator of the softmax."""
    if sink is not None:
        return sink.reshape(1, heads, 1, 1)
    smooth = int(call.attributes.get("smooth_softmax", -1)) > 0
    return np.zeros((1, heads, 1, 1)) if smooth else None
