"""Operators that are several steps inside, with the rounding of every step."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from isomorph.frameworks.pytorch.affine_quantizers import AFFINE
from isomorph.frameworks.pytorch.bound_arguments import array, axes_of, tensor
from isomorph.frameworks.pytorch.recurrent import RECURRENT, Array
from isomorph.kernels.large_elements import elementwise
from isomorph.oracle.noise import NoiseSource

Given = Mapping[str, Any]
Composite = Callable[[Given, NoiseSource], Any]
"""From the arguments by name to the result; None where the plain operator should be used."""


def _total(x: Array, axes: tuple[int, ...], source: NoiseSource) -> Array:
    length = math.prod(x.shape[axis] for axis in axes) if x.ndim else 1
    total = np.sum(x, axis=axes, keepdims=True)
    return source.reduced(total, lambda: np.sum(np.abs(x), axis=axes, keepdims=True), length)


def _mean(x: Array, axes: tuple[int, ...], source: NoiseSource) -> Array:
    length = math.prod(x.shape[axis] for axis in axes) if x.ndim else 1
    return source.rounded(_total(x, axes, source) / max(length, 1))


def _difference(a: Array, b: Array, source: NoiseSource) -> Array:
    return source.rounded(np.asarray(a - b))


def softmax(x: Array, axis: int, source: NoiseSource) -> Array:
    """Shifted by the largest; a row of nothing but -inf is NaN, as in torch."""
    with np.errstate(invalid="ignore"):
        top = np.max(x, axis=axis, keepdims=True, initial=-np.inf)
        grown = source.rounded(np.exp(_finite_difference(x, top, source)))
        return source.rounded(grown / _total(grown, (axis % max(x.ndim, 1),), source))


def _finite_difference(x: Array, top: Array, source: NoiseSource) -> Array:
    shifted = x - top
    # A mask of -inf, or of -1e9, has no rounding that matters: its exponential is zero.
    return np.where(shifted > -104.0, source.rounded(shifted), shifted)


def _softmax(given: Given, source: NoiseSource) -> Any:  # noqa: ANN401
    x = array(given["self"])
    if x.dtype != np.float64 or x.ndim == 0:
        return None
    return tensor(softmax(x, int(given["dim"]), source))


def _log_softmax(given: Given, source: NoiseSource) -> Any:  # noqa: ANN401
    x, axis = array(given["self"]), int(given["dim"])
    if x.dtype != np.float64 or x.ndim == 0:
        return None
    with np.errstate(invalid="ignore", divide="ignore"):
        shifted = _finite_difference(x, np.max(x, axis=axis, keepdims=True), source)
        total = _total(source.rounded(np.exp(shifted)), (axis % x.ndim,), source)
        return tensor(_difference(shifted, source.rounded(np.log(total)), source))


def _standardized(x: Array, axes: tuple[int, ...], eps: float, source: NoiseSource) -> Any:  # noqa: ANN401
    mean = _mean(x, axes, source)
    centered = _difference(x, mean, source)
    variance = _mean(source.rounded(centered * centered), axes, source)
    scale = source.rounded(1.0 / np.sqrt(variance + eps))
    return source.rounded(centered * scale), mean, scale


def _affine(x: Array, weight: Array | None, bias: Array | None, source: NoiseSource) -> Array:
    if weight is not None:
        x = source.rounded(x * weight)
    if bias is not None:
        x = source.rounded(x + bias)
    return x


def _layer_norm(given: Given, source: NoiseSource) -> Any:  # noqa: ANN401
    return _layer_norm_whole(given, source)[0]


def _layer_norm_whole(given: Given, source: NoiseSource) -> Any:  # noqa: ANN401
    x = array(given["input"])
    axes = tuple(range(x.ndim - len(given["normalized_shape"]), x.ndim))
    y, mean, scale = _standardized(x, axes, given["eps"], source)
    y = _affine(y, array(given.get("weight")), array(given.get("bias")), source)
    return tensor(y), tensor(mean), tensor(scale)


def _rms_norm(given: Given, source: NoiseSource) -> Any:  # noqa: ANN401
    x = array(given["input"])
    axes = tuple(range(x.ndim - len(given["normalized_shape"]), x.ndim))
    # Left open, the guard is the resolution of the declared type, which only torch knows.
    if given.get("eps") is None:
        return None
    power = _mean(source.rounded(x * x), axes, source)
    y = source.rounded(x * source.rounded(1.0 / np.sqrt(power + given["eps"])))
    return tensor(_affine(y, array(given.get("weight")), None, source))


def _channels(value: Any, rank: int) -> Any:  # noqa: ANN401
    plain = array(value)
    return None if plain is None else plain.reshape([1, -1] + [1] * (rank - 2))


def _grouped(x: Array, groups: int, given: Given, source: NoiseSource) -> Any:  # noqa: ANN401
    pieces = x.reshape(x.shape[0], groups, -1)
    y, mean, scale = _standardized(pieces, (2,), given["eps"], source)
    weight, bias = (_channels(given.get(word), x.ndim) for word in ("weight", "bias"))
    y = _affine(y.reshape(x.shape), weight, bias, source)
    return tensor(y), tensor(mean[..., 0]), tensor(scale[..., 0])


def _group_norm(given: Given, source: NoiseSource) -> Any:  # noqa: ANN401
    return _grouped(array(given["input"]), int(given["num_groups"]), given, source)[0]


def _native_group_norm(given: Given, source: NoiseSource) -> Any:  # noqa: ANN401
    return _grouped(array(given["input"]), int(given["group"]), given, source)


def _instance_norm(given: Given, source: NoiseSource) -> Any:  # noqa: ANN401
    if not given.get("use_input_stats", True):
        return tensor(_with_statistics(given, source))
    x = array(given["input"])
    return _grouped(x, x.shape[1], given, source)[0]


def _with_statistics(given: Given, source: NoiseSource) -> Array:
    x = array(given["input"])
    mean, variance, weight, bias = (
        _channels(given.get(word), x.ndim)
        for word in ("running_mean", "running_var", "weight", "bias")
    )
    scale = source.rounded(1.0 / source.rounded(np.sqrt(variance + given["eps"])))
    scale = scale if weight is None else source.rounded(scale * weight)
    # Kernels differ in whether they center first or fold the mean into the bias; the size of
    # what cancels is the same.
    offset = source.rounded(-mean * scale)
    if bias is not None:
        offset = source.rounded(offset + bias)
    scaled = source.rounded(elementwise(np.multiply, x, scale))
    return source.rounded(elementwise(np.add, scaled, offset))


def _batch_norm(given: Given, source: NoiseSource) -> Any:  # noqa: ANN401
    return _batch_norm_whole(given, source)[0]


def _batch_norm_whole(given: Given, source: NoiseSource) -> Any:  # noqa: ANN401
    x = array(given["input"])
    if given.get("running_mean") is not None and not given.get("training"):
        return _batch_norm_no_training(given, source)
    y, mean, scale = _standardized(x, (0, *range(2, x.ndim)), given["eps"], source)
    weight, bias = (_channels(given.get(word), x.ndim) for word in ("weight", "bias"))
    y = _affine(y, weight, bias, source)
    return tensor(y), tensor(mean.reshape(-1)), tensor(scale.reshape(-1))


def _batch_norm_no_training(given: Given, source: NoiseSource) -> Any:  # noqa: ANN401
    empty = tensor(np.zeros(0))
    return tensor(_with_statistics(given, source)), empty, empty.clone()


def _spread_of(given: Given, source: NoiseSource) -> tuple[Array, Array]:
    x = array(given["self"])
    axes = axes_of(given.get("dim"), x.ndim)
    length = math.prod(x.shape[axis] for axis in axes)
    correction = given.get("correction", 1 if given.get("unbiased", True) else 0)
    left = max(length - (1 if correction is None else correction), 0)
    mean = _mean(x, axes, source)
    centered = _difference(x, mean, source)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = source.rounded(_total(source.rounded(centered * centered), axes, source) / left)
    if not given.get("keepdim", False):
        mean, variance = np.squeeze(mean, axes), np.squeeze(variance, axes)
    return variance, mean


def _variance(given: Given, source: NoiseSource) -> Any:  # noqa: ANN401
    return tensor(_spread_of(given, source)[0])


def _deviation(given: Given, source: NoiseSource) -> Any:  # noqa: ANN401
    return tensor(source.rounded(np.sqrt(_spread_of(given, source)[0])))


def _variance_mean(given: Given, source: NoiseSource) -> Any:  # noqa: ANN401
    variance, mean = _spread_of(given, source)
    return tensor(variance), tensor(mean)


def _deviation_mean(given: Given, source: NoiseSource) -> Any:  # noqa: ANN401
    variance, mean = _spread_of(given, source)
    return tensor(source.rounded(np.sqrt(variance))), tensor(mean)


def _product(a: Array, b: Array, source: NoiseSource) -> Array:
    return source.reduced(a @ b, lambda: np.abs(a) @ np.abs(b), a.shape[-1])


def _attention(given: Given, source: NoiseSource) -> Any:  # noqa: ANN401
    query, key, value = (array(given[word]) for word in ("query", "key", "value"))
    if given.get("dropout_p"):
        return None
    if given.get("enable_gqa") and key.shape[-3] != query.shape[-3]:
        times = query.shape[-3] // key.shape[-3]
        key, value = np.repeat(key, times, axis=-3), np.repeat(value, times, axis=-3)
    scale = given.get("scale") or 1.0 / math.sqrt(query.shape[-1])
    scores = _product(source.rounded(query * scale), np.swapaxes(key, -1, -2), source)
    mask = array(given.get("attn_mask"))
    if given.get("is_causal"):
        mask = np.tril(np.ones(scores.shape[-2:], dtype=bool))
    if mask is not None and mask.dtype == bool:
        scores = np.where(mask, scores, -np.inf)
    elif mask is not None:
        scores = source.rounded(scores + mask)
    weights = softmax(scores, -1, source)
    if not np.isfinite(np.sum(weights)):
        # Rows that attend to nothing: torch gives zeros for them.
        dead = np.all(np.isneginf(scores), axis=-1, keepdims=True)
        weights = np.where(dead, 0.0, weights)
    return tensor(_product(weights, value, source))


COMPOSITES: Mapping[str, Composite] = {
    "softmax": _softmax,
    "_softmax": _softmax,
    "log_softmax": _log_softmax,
    "_log_softmax": _log_softmax,
    "layer_norm": _layer_norm,
    "native_layer_norm": _layer_norm_whole,
    "rms_norm": _rms_norm,
    "group_norm": _group_norm,
    "native_group_norm": _native_group_norm,
    "instance_norm": _instance_norm,
    "batch_norm": _batch_norm,
    "native_batch_norm": _batch_norm_whole,
    "_native_batch_norm_legit": _batch_norm_whole,
    "_native_batch_norm_legit_no_training": _batch_norm_no_training,
    "var": _variance,
    "std": _deviation,
    "var_mean": _variance_mean,
    "std_mean": _deviation_mean,
    "scaled_dot_product_attention": _attention,
    **RECURRENT,
    **AFFINE,
}
