"""ONNX Runtime's multi-head attention: what all its forms share, and the two plain ones."""

from __future__ import annotations

import numpy as np

from isomorph.core.errors import UnreadableModelError
from isomorph.kernels.attention import join_heads, split_heads
from isomorph.kernels.registry import kernel, standard
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array

MICROSOFT = "com.microsoft"


def refuse(call: Call, what: str) -> UnreadableModelError:
    """The error for a form of an operator that is not computed here."""
    return UnreadableModelError(
        "UNSUPPORTED_OP",
        f"{call.domain}::{call.op} with {what} cannot be evaluated in float64",
        fix="compare at the tensors around this node, or against recorded outputs",
    )


def product(call: Call, a: Array, b: Array) -> Array:
    """A matrix product with the noise of its sums."""
    return np.asarray(call.noise.reduced(a @ b, lambda: np.abs(a) @ np.abs(b), length=a.shape[-1]))


def attend(  # noqa: PLR0917
    call: Call,
    query: Array,
    key: Array,
    value: Array,
    scale: float,
    bias: Array | None,
) -> tuple[Array, Array]:
    """softmax(scores)·V over (batch, head, position, size), and scores = scale·Q·Kᵀ + bias."""
    noise = call.noise
    scores = noise.rounded(product(call, query, np.swapaxes(key, -1, -2)) * scale)
    scores = scores if bias is None else noise.rounded(scores + bias)
    weights = standard(call, "Softmax", scores, version=13, axis=-1)
    return product(call, weights, value), scores


def mask_bias(call: Call, mask: Array | None, batch: int, length: int, total: int) -> Array | None:
    """What the padding mask and the causal one add to the scores: (batch or 1, 1, length, total).

    A mask may be raw (0 hides) with 2 to 4 axes, or the lengths of the rows, or their ends followed
    by their starts.
    """
    hidden = float(call.attributes.get("mask_filter_value", -10000.0))
    bias: Array | None = None
    if mask is not None:
        shown = _shown(mask, batch, length, total)
        bias = np.where(shown, 0.0, hidden)
    if int(call.attributes.get("unidirectional", 0)):
        later = np.arange(total) > np.arange(length)[:, None] + (total - length)
        bias = np.zeros((1, 1, length, total)) if bias is None else bias
        bias = np.where(later, float(np.finfo(np.float32).min), bias)
    return bias


def _shown(mask: Array, batch: int, length: int, total: int) -> Array:
    if mask.ndim == 1:
        places = np.arange(total)
        shown = places < mask[:batch, None]
        if mask.size == 2 * batch:
            shown &= places >= mask[batch:, None]
        return shown[:, None, None, :]
    if mask.ndim == 2:
        return (mask > 0)[:, None, None, :]
    if mask.ndim == 3:
        return (mask > 0)[:, None, :, :]
    past = total - length
    return (mask > 0)[:, :, past : past + length, :total]


@kernel("Attention", domain=MICROSOFT)
def attention(  # noqa: PLR0917
    call: Call,
    x: Array,
    weights: Array,
    bias: Array | None = None,
    mask: Array | None = None,
    past: Array | None = None,
    attention_bias: Array | None = None,
    past_length: Array | None = None,
) -> tuple[Array, ...]:
    """Self-attention with the three projections in one matrix."""
    projected = product(call, x, weights)
    if bias is not None:
        projected = call.noise.rounded(projected + bias)
    return attend_projected(call, projected, mask, past, attention_bias)


def attend_projected(
    call: Call,
    projected: Array,
    mask: Array | None,
    past: Array | None,
    attention_bias: Array | None,
) -> tuple[Array, ...]:
    """Attention behind its projection, with the state that it keeps."""
    given = call.attributes
    if given.get("do_rotary", 0) or given.get("past_present_share_buffer", 0):
        raise refuse(call, "rotary embedding or a shared buffer")
    heads = int(given["num_heads"])
    sizes = given.get("qkv_hidden_sizes") or [projected.shape[-1] // 3] * 3
    parts = np.split(projected, np.cumsum(sizes)[:2], axis=-1)
    query, key, value = (split_heads(part, heads) for part in parts)
    if past is not None:
        key, value = (np.concatenate(pair, axis=2) for pair in ((past[0], key), (past[1], value)))
    added = _total_bias(call, query, key, mask, attention_bias)
    scale = float(given.get("scale") or 1.0 / np.sqrt(query.shape[-1]))
    y, _ = attend(call, query, key, value, scale, added)
    outputs: tuple[Array, ...] = (join_heads(y),)
    return outputs if call.outputs < 2 else (*outputs, np.stack([key, value]))


def _total_bias(
    call: Call, query: Array, key: Array, mask: Array | None, attention_bias: Array | None
) -> Array | None:
    added = mask_bias(call, mask, query.shape[0], query.shape[2], key.shape[2])
    if attention_bias is None:
        return added
    return attention_bias if added is None else np.asarray(added + attention_bias)


@kernel("MultiHeadAttention", domain=MICROSOFT)
def multi_head_attention(  # noqa: PLR0917
    call: Call,
    query: Array,
    key: Array | None = None,
    value: Array | None = None,
    bias: Array | None = None,
    mask: Array | None = None,
    attention_bias: Array | None = None,
    past_key: Array | None = None,
    past_value: Array | None = None,
    past_length: Array | None = None,
    cache: Array | None = None,
) -> tuple[Array, ...]:
    """Attention behind projections that the graph shows; its bias may still be inside."""
    if past_length is not None or cache is not None:
        raise refuse(call, "a shared buffer or beam search")
    heads = int(call.attributes["num_heads"])
    q, k, v = _biased(call, _unpacked(query, key, value, heads), bias, heads)
    if past_key is not None and past_value is not None:
        k, v = np.concatenate([past_key, k], axis=2), np.concatenate([past_value, v], axis=2)
    scale = float(call.attributes.get("scale") or 1.0 / np.sqrt(q.shape[-1]))
    added = _total_bias(call, q, k, mask, attention_bias)
    y, scores = attend(call, q, k, v, scale, added)
    return (join_heads(y), k, v, scores)[: max(call.outputs, 1)]


def _unpacked(query: Array, key: Array | None, value: Array | None, heads: int) -> list[Array]:
    """Query, key and value by head, however they are packed."""
    if key is None and query.ndim == 5:
        return [query[:, :, :, part].transpose(0, 2, 1, 3) for part in range(3)]
    if key is not None and value is None and key.ndim == 5:
        pair = [key[:, :, :, part].transpose(0, 2, 1, 3) for part in range(2)]
        return [split_heads(query, heads), *pair]
    parts = [part for part in (query, key, value) if part is not None]
    return [part if part.ndim == 4 else split_heads(part, heads) for part in parts]


def _biased(call: Call, parts: list[Array], bias: Array | None, heads: int) -> list[Array]:
    if bias is None:
        return parts
    sizes = [heads * part.shape[-1] for part in parts]
    biases = np.split(bias, np.cumsum(sizes)[:2])
    return [
        np.asarray(call.noise.rounded(part + each.reshape(heads, 1, -1)))
        for part, each in zip(parts, biases, strict=True)
    ]
