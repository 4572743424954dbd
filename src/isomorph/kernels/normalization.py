"""Normalizations, with noise at each of their steps: mean, deviation, scale, shift."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from isomorph.kernels.large_elements import elementwise
from isomorph.kernels.reductions import mean, total
from isomorph.kernels.registry import kernel
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array, NoiseSource


def along(x: Array, parameter: Array, axis: int = 1) -> Array:
    """A vector laid along one axis of ``x``."""
    return parameter.reshape([-1 if place == axis else 1 for place in range(x.ndim)])


def standardized(
    x: Array, axes: tuple[int, ...], epsilon: float, noise: NoiseSource
) -> tuple[Array, Array, Array]:
    """(x − mean) / √(variance + epsilon), with the mean and the inverse deviation."""
    center = mean(x, axes, noise)
    away = noise.rounded(x - center)
    variance = mean(away * away, axes, noise)
    inverse = noise.rounded(np.asarray(1.0 / np.sqrt(variance + epsilon), dtype=x.dtype))
    return noise.rounded(away * inverse), center, inverse


def scaled(x: Array, scale: Array | None, bias: Array | None, noise: NoiseSource) -> Array:
    """X · scale + bias, either of which may be absent."""
    y = x if scale is None else noise.rounded(np.asarray(x * scale))
    return y if bias is None else noise.rounded(np.asarray(y + bias))


@kernel("BatchNormalization")
def batch_normalization(  # noqa: PLR0917
    call: Call, x: Array, scale: Array, bias: Array, mu: Array, variance: Array
) -> Array | tuple[Array, ...]:
    """With stored statistics; in training mode with those of the batch, which are returned too."""
    training = bool(call.attributes.get("training_mode", 0))
    if call.version < 7:
        training = not call.attributes.get("is_test", 0)
    if not training:
        return _inference(call, x, scale, bias, mu, variance)
    axes = (0, *range(2, x.ndim))
    momentum = call.attributes.get("momentum", 0.9)
    seen = mean(x, axes, call.noise)
    away = call.noise.rounded(x - seen)
    spread = mean(away * away, axes, call.noise)
    y = _inference(call, x, scale, bias, seen.reshape(-1), spread.reshape(-1))
    running_mean = mu * momentum + seen.reshape(-1) * (1.0 - momentum)
    running_variance = variance * momentum + spread.reshape(-1) * (1.0 - momentum)
    results = (
        y,
        np.asarray(running_mean, dtype=mu.dtype),
        np.asarray(running_variance, dtype=variance.dtype),
        seen.reshape(-1),
        spread.reshape(-1),
    )
    return results[: max(call.outputs, 1)]


def _inference(  # noqa: PLR0917
    call: Call, x: Array, scale: Array, bias: Array, mu: Array, variance: Array
) -> Array:
    epsilon = call.attributes.get("epsilon", 1e-5)
    noise = call.noise
    factor = np.asarray(scale / np.sqrt(variance + epsilon), dtype=x.dtype)
    factor = noise.rounded(factor, 2.0 * np.abs(factor))
    # Runtimes fold the mean into the shift, so x·factor and mean·factor are both rounded.
    offset = np.asarray(bias - mu * factor, dtype=x.dtype)
    y = elementwise(_affine, x, along(x, factor), along(x, offset))
    if not noise.active:
        return y
    beside = along(x, np.abs(factor)), along(x, np.abs(bias) + np.abs(mu * factor))
    return noise.rounded(y, elementwise(_affine_size, x, *beside))


def _affine(x: Array, factor: Array, offset: Array) -> Array:
    y: Array = x * factor
    y += offset
    return y


def _affine_size(x: Array, factor: Array, offset: Array) -> Array:
    size: Array = np.abs(x)
    size *= factor
    size += offset
    return size


@kernel("InstanceNormalization")
def instance_normalization(call: Call, x: Array, scale: Array, bias: Array) -> Array:
    """Each channel of each element by its own statistics."""
    axes = tuple(range(2, x.ndim))
    y, _, _ = standardized(x, axes, call.attributes.get("epsilon", 1e-5), call.noise)
    return scaled(y, along(x, scale), along(x, bias), call.noise)


@kernel("LayerNormalization")
def layer_normalization(
    call: Call, x: Array, scale: Array, bias: Array | None = None
) -> Array | tuple[Array, ...]:
    """The trailing axes by their own statistics; mean and inverse deviation on request."""
    axis = call.attributes.get("axis", -1) % x.ndim
    axes = tuple(range(axis, x.ndim))
    epsilon = call.attributes.get("epsilon", 1e-5)
    y, center, inverse = standardized(x, axes, epsilon, call.noise)
    y = scaled(y, scale, bias, call.noise)
    return (y, center, inverse)[: call.outputs] if call.outputs > 1 else y


@kernel("RMSNormalization")
def rms_normalization(call: Call, x: Array, scale: Array) -> Array:
    """The trailing axes by their root mean square."""
    axis = call.attributes.get("axis", -1) % x.ndim
    axes = tuple(range(axis, x.ndim))
    square = mean(x * x, axes, call.noise)
    epsilon = call.attributes.get("epsilon", 1e-5)
    inverse = call.noise.rounded(np.asarray(1.0 / np.sqrt(square + epsilon), dtype=x.dtype))
    return scaled(call.noise.rounded(x * inverse), scale, None, call.noise)


@kernel("GroupNormalization")
def group_normalization(call: Call, x: Array, scale: Array, bias: Array) -> Array:
    """Groups of channels by their statistics; until opset 20 one scale for each group."""
    groups = int(call.attributes["num_groups"])
    grouped = x.reshape(x.shape[0], groups, math.prod(x.shape[1:]) // groups)
    y, _, _ = standardized(grouped, (2,), call.attributes.get("epsilon", 1e-5), call.noise)
    y = y.reshape(x.shape)
    if scale.size == groups and scale.size != x.shape[1]:
        scale = np.repeat(scale, x.shape[1] // groups)
        bias = np.repeat(bias, x.shape[1] // groups)
    return scaled(y, along(x, scale), along(x, bias), call.noise)


@kernel("MeanVarianceNormalization")
def mean_variance_normalization(call: Call, x: Array) -> Array:
    """(x − mean) / (deviation + 1e-9) over the given axes, as the operator's function states."""
    axes = tuple(_axes(call.attributes.get("axes", (0, 2, 3)), x))
    noise = call.noise
    away = noise.rounded(x - mean(x, axes, noise))
    # E[x²] − E[x]² is how it is defined, and how its rounding grows with the mean.
    square = mean(x * x, axes, noise)
    first = mean(x, axes, noise)
    variance = np.maximum(square - first * first, 0.0)
    deviation = noise.rounded(np.sqrt(variance))
    return noise.rounded(np.asarray(away / (deviation + 1e-9), dtype=x.dtype))


@kernel("LRN")
def local_response(call: Call, x: Array) -> Array:
    """Divided by a power of the squares summed over neighboring channels."""
    size = int(call.attributes["size"])
    alpha, beta = call.attributes.get("alpha", 1e-4), call.attributes.get("beta", 0.75)
    bias = call.attributes.get("bias", 1.0)
    before, after = (size - 1) // 2, math.ceil((size - 1) / 2)
    squares = np.zeros_like(x)
    channels = x.shape[1]
    for channel in range(channels):
        seen = x[:, max(0, channel - before) : min(channels, channel + after + 1)]
        squares[:, channel] = (seen * seen).sum(axis=1)
    squares = call.noise.reduced(squares, lambda: squares, size)
    return over_power(call, x, np.asarray(bias + alpha / size * squares, dtype=x.dtype), beta)


def over_power(call: Call, x: Array, base: Array, exponent: float) -> Array:
    """Divide x by baseᵉ, with the roundings of base, power and quotient."""
    base = call.noise.rounded(base)
    power = np.asarray(np.power(base, exponent), dtype=x.dtype)
    if call.noise.active:
        power = call.noise.rounded(power, 2.0 * power * np.maximum(1.0, np.abs(np.log(base))))
    return call.noise.rounded(x / power)


@kernel("LpNormalization")
def lp_normalization(call: Call, x: Array) -> Array:
    """Divided by its 1-norm or 2-norm along one axis; zero stays zero."""
    axes = (call.attributes.get("axis", -1) % x.ndim,)
    if call.attributes.get("p", 2) == 1:
        norm = total(np.abs(x), axes, call.noise)
    else:
        norm = np.sqrt(total(x * x, axes, call.noise))
    norm = call.noise.rounded(norm)
    y = np.divide(x, norm, out=np.zeros_like(x), where=norm != 0)
    return call.noise.rounded(y)


def _axes(axes: Sequence[int], x: Array) -> list[int]:
    return [axis % x.ndim for axis in axes]
