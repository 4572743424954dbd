"""ONNX Runtime's normalizations: behind a residual sum, of embeddings, of groups."""

from __future__ import annotations

import numpy as np

from isomorph.kernels.ort.activations import silu
from isomorph.kernels.registry import kernel, standard
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array

MICROSOFT = "com.microsoft"


def layer_norm(
    call: Call, x: Array, gamma: Array, beta: Array | None, default: float = 1e-12
) -> tuple[Array, Array, Array]:
    """Over the last axis: the result, the mean, and 1 over the standard deviation."""
    epsilon = float(call.attributes.get("epsilon", np.float32(default)))
    result = standard(
        call,
        "LayerNormalization",
        x,
        gamma,
        beta,
        version=17,
        outputs=3,
        axis=-1,
        epsilon=epsilon,
        stash_type=1,
    )
    return result[0], result[1], result[2]


def rms_norm(
    call: Call, x: Array, gamma: Array, axis: int = -1, default: float = 1e-12
) -> tuple[Array, Array]:
    """Without a mean, from ``axis`` on: the result, and 1 over the root of the mean square."""
    epsilon = float(call.attributes.get("epsilon", np.float32(default)))
    axes = tuple(range(axis % x.ndim, x.ndim))
    length = int(np.prod([x.shape[each] for each in axes]))
    power = np.mean(x * x, axis=axes, keepdims=True)
    power = call.noise.reduced(power, lambda: np.abs(power), length)
    inverse = call.noise.rounded(1.0 / np.sqrt(power + epsilon)).astype(x.dtype)
    return np.asarray(call.noise.rounded(x * inverse * gamma)), inverse


@kernel("SkipLayerNormalization", domain=MICROSOFT)
def skip_layer_normalization(  # noqa: PLR0917
    call: Call,
    x: Array,
    skip: Array,
    gamma: Array,
    beta: Array | None = None,
    bias: Array | None = None,
) -> tuple[Array, ...]:
    """LayerNormalization of x + skip + bias, its statistics, and the sum itself."""
    total = _total(call, x, skip, bias)
    y, mean, inverse = layer_norm(call, total, gamma, beta)
    return (y, mean, inverse, total)[: max(call.outputs, 1)]


@kernel("SkipSimplifiedLayerNormalization", domain=MICROSOFT)
def skip_simplified_layer_normalization(
    call: Call, x: Array, skip: Array, gamma: Array, bias: Array | None = None
) -> tuple[Array, ...]:
    """The same by the root mean square alone; it has no mean to give."""
    total = _total(call, x, skip, bias)
    y, inverse = rms_norm(call, total, gamma)
    return (y, np.zeros_like(inverse), inverse, total)[: max(call.outputs, 1)]


@kernel("SimplifiedLayerNormalization")
@kernel("SimplifiedLayerNormalization", domain=MICROSOFT)
def simplified_layer_normalization(call: Call, x: Array, gamma: Array) -> tuple[Array, ...]:
    """ONNX Runtime writes this one into ONNX's own domain."""
    axis = int(call.attributes.get("axis", -1))
    return rms_norm(call, x, gamma, axis, default=1e-5)[: max(call.outputs, 1)]


@kernel("EmbedLayerNormalization", domain=MICROSOFT)
def embed_layer_normalization(  # noqa: PLR0917
    call: Call,
    words: Array,
    segments: Array | None,
    word_table: Array,
    position_table: Array,
    segment_table: Array | None,
    gamma: Array,
    beta: Array,
    mask: Array | None = None,
    positions: Array | None = None,
) -> tuple[Array, ...]:
    """Embeddings of word, position and segment, summed and normalized; and each row's length."""
    total = embed(call, (words, segments), (word_table, position_table, segment_table), positions)
    y = layer_norm(call, total, gamma, beta)[0]
    return (y, row_lengths(words, mask), total)[: max(call.outputs, 1)]


def embed(
    call: Call,
    ids: tuple[Array, Array | None],
    tables: tuple[Array, Array, Array | None],
    positions: Array | None,
) -> Array:
    """The sum of the rows that the ids choose."""
    places = np.arange(ids[0].shape[1])[None] if positions is None else positions
    total = call.noise.rounded(tables[0][ids[0]] + tables[1][places])
    if ids[1] is not None and tables[2] is not None:
        total = call.noise.rounded(total + tables[2][ids[1]])
    return np.asarray(total)


def row_lengths(words: Array, mask: Array | None) -> Array:
    """Where the first masked word of each row stands; zeros where there is no mask."""
    batch, length = words.shape
    if mask is None:
        return np.zeros(batch, np.int32)
    ended = mask != 1
    first = np.where(ended.any(axis=1), ended.argmax(axis=1), length)
    return np.asarray(first.astype(np.int32))


@kernel("GroupNorm", domain=MICROSOFT)
def group_norm(call: Call, x: Array, gamma: Array, beta: Array) -> Array:
    """Channels last unless an attribute states otherwise, with an optional SiLU behind."""
    given = call.attributes
    last = bool(given.get("channels_last", 1))
    y = standard(
        call,
        "GroupNormalization",
        np.moveaxis(x, -1, 1) if last else x,
        gamma,
        beta,
        version=21,
        epsilon=float(given.get("epsilon", np.float32(1e-5))),
        num_groups=int(given["groups"]),
        stash_type=1,
    )
    y = silu(call, y) if int(given.get("activation", 0)) == 1 else y
    return np.moveaxis(y, 1, -1) if last else np.asarray(y)


@kernel("SkipGroupNorm", domain=MICROSOFT)
def skip_group_norm(  # noqa: PLR0917
    call: Call, x: Array, gamma: Array, beta: Array, skip: Array, bias: Array | None = None
) -> tuple[Array, ...]:
    """GroupNorm of x + skip + bias, and the sum itself."""
    last = bool(call.attributes.get("channels_last", 1))
    if skip.ndim == 2:
        skip = skip[:, None, None, :] if last else skip[:, :, None, None]
    if bias is not None and not last:
        bias = bias[:, None, None]
    total = _total(call, x, skip, bias)
    return (group_norm(call, total, gamma, beta), total)[: max(call.outputs, 1)]


def _total(call: Call, x: Array, skip: Array, bias: Array | None) -> Array:
    total = call.noise.rounded(x + skip)
    return np.asarray(total if bias is None else call.noise.rounded(total + bias))
