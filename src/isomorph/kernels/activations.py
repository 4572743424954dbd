"""Activation functions, each with the rounding of its textbook formula."""

from __future__ import annotations

import math

import numpy as np

from isomorph.kernels.elementwise import beside_zero
from isomorph.kernels.erf import erf
from isomorph.kernels.large_elements import elementwise
from isomorph.kernels.registry import kernel
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(−x)), without overflow on either side."""
    with np.errstate(over="ignore"):
        return np.asarray(elementwise(_logistic, x), dtype=x.dtype)


def _logistic(x: Array) -> Array:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * x)))


def softplus(x: Array) -> Array:
    """log(1 + exp(x)), without overflow."""
    return np.asarray(np.logaddexp(x, np.zeros((), x.dtype)), dtype=x.dtype)


def gelu(x: Array, *, tanh: bool) -> Array:
    """x·Φ(x), exact by erf or by the tanh approximation."""
    if tanh:
        inner = math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)
        return np.asarray(0.5 * x * (1.0 + np.tanh(inner)), dtype=x.dtype)
    return np.asarray(0.5 * x * (1.0 + erf(x * math.sqrt(0.5))), dtype=x.dtype)


@kernel("Relu")
def relu(call: Call, x: Array) -> Array:
    """The positive part; NaN stays."""
    return elementwise(np.maximum, x, np.zeros((), x.dtype))


@kernel("Sigmoid")
def sigmoid_kernel(call: Call, x: Array) -> Array:
    """Rounded at 1 + exp(−x), so its size is 1."""
    y = sigmoid(x)
    return call.noise.rounded(y, beside_zero(x, 1.0)) if call.noise.active else y


@kernel("Softplus")
def softplus_kernel(call: Call, x: Array) -> Array:
    """Rounded at 1 + exp(x)."""
    y = softplus(x)
    size = np.where(y == 0, 0.0, np.maximum(np.abs(y), 1.0))
    return call.noise.rounded(y, size) if call.noise.active else y


@kernel("Softsign")
def softsign(call: Call, x: Array) -> Array:
    """X / (1 + |x|)."""
    return call.noise.rounded(np.asarray(x / (1.0 + np.abs(x))))


@kernel("LeakyRelu")
def leaky_relu(call: Call, x: Array) -> Array:
    """x, or alpha·x below zero."""
    alpha = call.attributes.get("alpha", 0.01)
    return _below_zero(call, x, np.asarray(x * alpha))


@kernel("PRelu")
def prelu(call: Call, x: Array, slope: Array) -> Array:
    """x, or slope·x below zero, with a slope per channel or element."""
    if call.version < 7 and slope.ndim == 1 and slope.size > 1:
        slope = slope.reshape((-1,) + (1,) * (x.ndim - 2))
    return _below_zero(call, x, np.asarray(x * slope))


@kernel("ThresholdedRelu")
def thresholded_relu(call: Call, x: Array) -> Array:
    """X above alpha, else 0."""
    return np.where(x > call.attributes.get("alpha", 1.0), x, np.zeros((), x.dtype))


@kernel("Elu", "Selu", "Celu")
def exponential_linear(call: Call, x: Array) -> Array:
    """Linear above zero, a·(exp(x/s) − 1) below; exp(x) is what gets rounded."""
    alpha = call.attributes.get("alpha", 1.0)
    gamma = call.attributes.get("gamma", 1.0) if call.op == "Selu" else 1.0
    scale = alpha if call.op == "Celu" else 1.0
    below = alpha * np.expm1(np.minimum(x, 0.0) / scale)
    y = np.asarray(gamma * np.where(x > 0, x, below), dtype=x.dtype)
    if not call.noise.active:
        return y
    factor = 0.0 if call.op != "Selu" else 1.0
    size = np.where(x > 0, factor * np.abs(y), 2.0 * abs(gamma * alpha))
    return call.noise.rounded(y, beside_zero(x, size))


@kernel("HardSigmoid")
def hard_sigmoid(call: Call, x: Array) -> Array:
    """alpha·x + beta, between 0 and 1."""
    alpha, beta = call.attributes.get("alpha", 0.2), call.attributes.get("beta", 0.5)
    line = np.asarray(alpha * x + beta, dtype=x.dtype)
    if call.noise.active:
        line = call.noise.rounded(line, np.abs(alpha * x) + abs(beta))
    return np.asarray(np.clip(line, 0.0, 1.0))


@kernel("HardSwish")
def hard_swish(call: Call, x: Array) -> Array:
    """X · min(max(x/6 + 1/2, 0), 1)."""
    y = np.asarray(x * np.clip(x / 6.0 + 0.5, 0.0, 1.0), dtype=x.dtype)
    if not call.noise.active:
        return y
    inside = (x > -3.0) & (x < 3.0)
    return call.noise.rounded(y, np.where(inside, np.abs(x), 0.0))


@kernel("Gelu")
def gelu_kernel(call: Call, x: Array) -> Array:
    """Either form; 1 + erf or 1 + tanh is what gets rounded, then multiplied by x."""
    y = gelu(x, tanh=call.attributes.get("approximate", "none") == "tanh")
    return call.noise.rounded(y, _unless_zero(x, y))


@kernel("Swish")
def swish(call: Call, x: Array) -> Array:
    """X · sigmoid(alpha·x)."""
    y = x * sigmoid(np.asarray(call.attributes.get("alpha", 1.0) * x, dtype=x.dtype))
    return call.noise.rounded(y, _unless_zero(x, y))


@kernel("Mish")
def mish(call: Call, x: Array) -> Array:
    """X · tanh(softplus(x))."""
    y = x * np.tanh(softplus(x))
    return call.noise.rounded(y, _unless_zero(x, y))


def _unless_zero(x: Array, y: Array) -> Array:
    """Its argument, but where it is zero: there the gate is shut in any arithmetic.

    Behind a mask of -3.4e38 the rounding of the argument would be larger than all the rest.
    """
    return np.where(y == 0, 0.0, x)


@kernel("Shrink")
def shrink(call: Call, x: Array) -> Array:
    """X moved toward zero by bias, and zero within lambd."""
    bias, bound = call.attributes.get("bias", 0.0), call.attributes.get("lambd", 0.5)
    y = np.where(x < -bound, x + bias, np.where(x > bound, x - bias, 0.0))
    y = np.asarray(y, dtype=x.dtype)
    return call.noise.rounded(y) if bias else y


def _below_zero(call: Call, x: Array, below: Array) -> Array:
    below = below.astype(x.dtype, copy=False)
    return np.where(x < 0, call.noise.rounded(below), x)
