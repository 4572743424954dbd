"""Softmax and its relatives: shifted by the maximum, noise at exponent, sum and quotient."""

from __future__ import annotations

import math

import numpy as np

from isomorph.kernels.reductions import total
from isomorph.kernels.registry import kernel
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array, NoiseSource


def softmax(x: Array, axis: int, noise: NoiseSource) -> Array:
    """exp(x − max) over its sum along ``axis``."""
    if x.shape[axis] == 0:
        return x
    exponent, _ = _shifted(x, axis, noise)
    terms = noise.rounded(np.exp(exponent))
    return noise.rounded(terms / total(terms, (axis,), noise))


def log_softmax(x: Array, axis: int, noise: NoiseSource) -> Array:
    """The logarithm of softmax, without going through it."""
    if x.shape[axis] == 0:
        return x
    exponent, _ = _shifted(x, axis, noise)
    terms = noise.rounded(np.exp(exponent))
    away = np.log(total(terms, (axis,), noise))
    # Along a single element the sum is exactly one, and its logarithm exactly zero.
    size = np.where(away == 0, 0.0, np.maximum(np.abs(away), 1.0))
    away = noise.rounded(np.asarray(away, dtype=x.dtype), size)
    return noise.rounded(exponent - away)


@kernel("Softmax", "LogSoftmax", since=13)
def along_axis(call: Call, x: Array) -> Array:
    """Along one axis."""
    function = softmax if call.op == "Softmax" else log_softmax
    return function(x, call.attributes.get("axis", -1) % max(x.ndim, 1), call.noise)


@kernel("Softmax", "LogSoftmax")
def flattened(call: Call, x: Array) -> Array:
    """Until opset 12: over everything from ``axis`` on."""
    function = softmax if call.op == "Softmax" else log_softmax
    axis = call.attributes.get("axis", 1) % max(x.ndim, 1)
    return function(_rows(x, axis), 1, call.noise).reshape(x.shape)


@kernel("Hardmax")
def hardmax(call: Call, x: Array) -> Array:
    """One at the first largest, zero elsewhere."""
    axis = call.attributes.get("axis", -1 if call.version >= 13 else 1) % x.ndim
    flat = x if call.version >= 13 else _rows(x, axis)
    return one_hot(flat, axis if call.version >= 13 else 1).reshape(x.shape)


def one_hot(x: Array, axis: int) -> Array:
    """One at the first largest along ``axis``, zero elsewhere."""
    y = np.zeros_like(x)
    if not x.size:
        return y
    np.put_along_axis(y, np.argmax(x, axis=axis, keepdims=True), 1, axis=axis)
    return y


def _rows(x: Array, axis: int) -> Array:
    return x.reshape(math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))


def _shifted(x: Array, axis: int, noise: NoiseSource) -> tuple[Array, Array]:
    top = np.max(x, axis=axis, keepdims=True)
    # A row of −inf has no finite maximum: like the runtimes it then becomes NaN, not 1/n.
    return noise.rounded(x - top), top
