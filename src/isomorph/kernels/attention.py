"""Scaled dot-product attention, with noise at scores, softmax and weighted sum."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from isomorph.kernels.matmul import product
from isomorph.kernels.registry import kernel
from isomorph.kernels.softmax import softmax
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array, NoiseSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Attended:
    """The result, and the steps that ONNX lets a model look at."""

    result: Array
    scores: Array
    biased: Array
    weights: Array


def attend(
    q: Array,
    k: Array,
    v: Array,
    noise: NoiseSource,
    *,
    scale: float,
    bias: Array | None = None,
    softcap: float = 0.0,
) -> Attended:
    """softmax(q·kᵀ·scale, capped, + bias) · v on (batch, heads, length, size).

    A row whose keys are all masked out has no attention to give, and gives zero.
    """
    scores = product(q, k.swapaxes(-1, -2), noise)
    scores = noise.rounded(np.asarray(scores * scale, dtype=q.dtype))
    if softcap:
        scores = noise.rounded(softcap * np.tanh(scores / softcap), softcap)
    biased = scores if bias is None else noise.rounded(np.asarray(scores + bias, dtype=q.dtype))
    weights = softmax(biased, biased.ndim - 1, noise)
    if bias is not None:
        masked = np.isneginf(np.max(bias, axis=-1, keepdims=True))
        weights = np.where(masked, np.zeros((), q.dtype), weights)
    result = product(weights, v, noise)
    return Attended(result=result, scores=scores, biased=biased, weights=weights)


def split_heads(x: Array, heads: int) -> Array:
    """(batch, length, heads·size) → (batch, heads, length, size)."""
    batch, length, width = x.shape
    return x.reshape(batch, length, heads, width // heads).transpose(0, 2, 1, 3)


def join_heads(x: Array) -> Array:
    """(batch, heads, length, size) → (batch, length, heads·size)."""
    batch, heads, length, size = x.shape
    return x.transpose(0, 2, 1, 3).reshape(batch, length, heads * size)


@kernel("Attention", since=23)
def attention(  # noqa: PLR0917
    call: Call,
    q: Array,
    k: Array,
    v: Array,
    mask: Array | None = None,
    past_key: Array | None = None,
    past_value: Array | None = None,
    lengths: Array | None = None,
) -> tuple[Array, ...]:
    """ONNX's Attention: grouped heads, a cache, masks, a causal or sliding window."""
    attributes = call.attributes
    joined = q.ndim == 3
    if joined:
        q = split_heads(q, int(attributes["q_num_heads"]))
        k = split_heads(k, int(attributes["kv_num_heads"]))
        v = split_heads(v, int(attributes["kv_num_heads"]))
    past = 0 if past_key is None else past_key.shape[2]
    if past_key is not None and past_value is not None:
        k, v = np.concatenate((past_key, k), 2), np.concatenate((past_value, v), 2)
    bias = _bias(call, q, k, mask, past, lengths)
    repeats = q.shape[1] // k.shape[1]
    wide_k, wide_v = (np.repeat(part, repeats, axis=1) if repeats > 1 else part for part in (k, v))
    done = attend(
        q,
        wide_k,
        wide_v,
        call.noise,
        scale=attributes.get("scale") or 1.0 / math.sqrt(q.shape[-1]),
        bias=bias,
        softcap=attributes.get("softcap") or 0.0,
    )
    y = join_heads(done.result) if joined else done.result
    shown = {2: done.biased, 3: done.weights}
    seen = shown.get(attributes.get("qk_matmul_output_mode", 0), done.scores)
    return (y, k, v, seen)[: max(call.outputs, 1)]


def _bias(  # noqa: PLR0917
    call: Call, q: Array, k: Array, mask: Array | None, past: int, lengths: Array | None
) -> Array | None:
    """Everything that is added to the scores: mask, causal frontier, window, padding."""
    queries, keys = q.shape[2], k.shape[2]
    allowed: list[Array] = []
    bias: Array | None = None
    if mask is not None:
        missing = [(0, 0)] * (mask.ndim - 1) + [(0, keys - mask.shape[-1])]
        if mask.dtype == bool:
            allowed.append(np.pad(mask, missing))
        else:
            bias = np.pad(mask, missing, constant_values=-np.inf)
    # How many keys stand before the first query.
    offset = np.array(past).reshape(1, 1, 1, 1)
    if lengths is not None and not past:
        offset = np.asarray(lengths, np.int64).reshape(-1, 1, 1, 1) - queries
    ahead = np.arange(keys) - (np.arange(queries)[:, None] + offset)
    left = call.attributes.get("left_window_size", -1)
    right = call.attributes.get("right_window_size", -1)
    if call.attributes.get("is_causal"):
        allowed.append(ahead <= 0)
    if left >= 0:
        allowed.append(-ahead <= left)
    if right >= 0:
        allowed.append(ahead <= right)
    if lengths is not None:
        allowed.append(np.arange(keys) < np.asarray(lengths).reshape(-1, 1, 1, 1))
    for part in allowed:
        closed = np.where(part, np.zeros((), q.dtype), np.array(-np.inf, q.dtype))
        bias = closed if bias is None else bias + closed
    return bias
