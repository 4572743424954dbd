"""Random numbers. They belong to the node: every run draws the same ones, with or without noise."""

from __future__ import annotations

import numpy as np

from isomorph.kernels.registry import kernel
from isomorph.oracle.call import Call
from isomorph.oracle.dtypes import ONNX_DTYPES, numpy_dtype
from isomorph.oracle.noise import Array, generator


@kernel("RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike")
def random_numbers(call: Call, like: Array | None = None) -> Array:
    """Random numbers of the declared shape; the same ones in every run of the same node."""
    shape = np.shape(like) if like is not None else tuple(call.attributes["shape"])
    source = _seeded(call)
    if "Normal" in call.op:
        drawn = source.standard_normal(shape)
        y = call.attributes.get("mean", 0.0) + call.attributes.get("scale", 1.0) * drawn
    else:
        low, high = call.attributes.get("low", 0.0), call.attributes.get("high", 1.0)
        y = low + (high - low) * source.random(shape)
    number = call.attributes.get("dtype")
    name = ONNX_DTYPES[number] if number else (call.dtype or "float32")
    return np.asarray(y).astype(numpy_dtype(name))


@kernel("Bernoulli")
def bernoulli(call: Call, x: Array) -> Array:
    """One with the given probability, else zero."""
    number = call.attributes.get("dtype")
    name = ONNX_DTYPES[number] if number else x.dtype.name
    return (_seeded(call).random(x.shape) < x).astype(numpy_dtype(name))


@kernel("Multinomial")
def multinomial(call: Call, x: Array) -> Array:
    """Classes drawn with the given unnormalized log-probabilities."""
    draws = int(call.attributes.get("sample_size", 1))
    weights = np.exp(x - x.max(axis=-1, keepdims=True))
    edges = np.cumsum(weights, axis=-1) / weights.sum(axis=-1, keepdims=True)
    points = _seeded(call).random((x.shape[0], draws))
    chosen = (points[:, :, None] >= edges[:, None, :]).sum(axis=-1)
    name = ONNX_DTYPES[call.attributes.get("dtype", 6)]
    return np.asarray(np.minimum(chosen, x.shape[-1] - 1)).astype(numpy_dtype(name))


@kernel("Dropout")
def dropout(
    call: Call, x: Array, ratio: Array | None = None, training: Array | None = None
) -> Array | tuple[Array, Array]:
    """Nothing in inference; in training mode it drops, and scales what is left."""
    share = float(call.attributes.get("ratio", 0.5) if ratio is None else np.asarray(ratio))
    drops = bool(np.asarray(training)) if training is not None else False
    if call.version < 7:
        drops = not call.attributes.get("is_test", 0)
    if not drops or share == 0.0:
        kept = np.ones(x.shape, bool)
        return (x, kept) if call.outputs > 1 else x
    kept = _seeded(call).random(x.shape) >= share
    y = np.asarray(np.where(kept, x / (1.0 - share), 0.0), dtype=x.dtype)
    y = call.noise.rounded(y)
    return (y, kept) if call.outputs > 1 else y


def _seeded(call: Call) -> np.random.Generator:
    """By the seed the node states, else by its place; the noise must not redraw it."""
    stated = call.attributes.get("seed")
    return generator(0, call.site if stated is None else float(stated))
