"""Reductions over axes, with the axes as an attribute or, in later opsets, as an input."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from isomorph.kernels.registry import kernel
from isomorph.oracle.call import Call
from isomorph.oracle.exact_sums import at_most_one, sums_of
from isomorph.oracle.noise import Array, NoiseSource

Axes = tuple[int, ...] | None


def reduced_axes(call: Call, x: Array, axes: Array | None) -> Axes:
    """The axes to reduce: None for all of them, empty where nothing is to be done."""
    given = call.attributes.get("axes") if axes is None else np.asarray(axes).reshape(-1).tolist()
    if not given:
        return () if call.attributes.get("noop_with_empty_axes") else None
    return tuple(int(axis) % max(x.ndim, 1) for axis in given)


def total(x: Array, axes: Axes, noise: NoiseSource, *, keep: bool = True) -> Array:
    """A sum with the noise of its additions; its type is that of ``x``."""
    y = np.asarray(np.sum(x, axis=axes, keepdims=keep, dtype=x.dtype))
    length = x.size // max(y.size, 1)
    exact = sums_of(x, single=at_most_one(x, axes, keep=keep)) if noise.active else None
    return noise.reduced(y, lambda: np.sum(np.abs(x), axis=axes, keepdims=keep), length, exact)


def mean(x: Array, axes: Axes, noise: NoiseSource, *, keep: bool = True) -> Array:
    """A mean with the noise of its sum; of integers it is truncated."""
    y = np.asarray(np.sum(x, axis=axes, keepdims=keep, dtype=x.dtype))
    length = x.size // max(y.size, 1)
    if x.dtype.kind != "f":
        return np.asarray(np.trunc(y / max(length, 1)).astype(x.dtype))
    y = y / x.dtype.type(length)

    def magnitude() -> Array:
        return np.asarray(np.sum(np.abs(x), axis=axes, keepdims=keep) / max(length, 1))

    return noise.reduced(np.asarray(y), magnitude, length)


def _l1(x: Array, axes: Axes, noise: NoiseSource, *, keep: bool) -> Array:
    return total(np.abs(x), axes, noise, keep=keep)


def _l2(x: Array, axes: Axes, noise: NoiseSource, *, keep: bool) -> Array:
    y = np.sqrt(total(x * x, axes, noise, keep=keep))
    return noise.rounded(np.asarray(y, dtype=x.dtype))


def _sum(x: Array, axes: Axes, noise: NoiseSource, *, keep: bool) -> Array:
    return total(x, axes, noise, keep=keep)


def _mean(x: Array, axes: Axes, noise: NoiseSource, *, keep: bool) -> Array:
    return mean(x, axes, noise, keep=keep)


def _sum_square(x: Array, axes: Axes, noise: NoiseSource, *, keep: bool) -> Array:
    return total(x * x, axes, noise, keep=keep)


def _log_sum(x: Array, axes: Axes, noise: NoiseSource, *, keep: bool) -> Array:
    y = np.log(total(x, axes, noise, keep=keep))
    return noise.rounded(np.asarray(y, dtype=x.dtype), 2.0 * np.abs(y))


def _log_sum_exp(x: Array, axes: Axes, noise: NoiseSource, *, keep: bool) -> Array:
    if x.dtype.kind != "f":
        y = np.log(np.sum(np.exp(x.astype(np.float64)), axis=axes, keepdims=keep))
        return np.asarray(y.astype(x.dtype))
    top = np.max(x, axis=axes, keepdims=True, initial=-np.inf)
    center = np.where(np.isfinite(top), top, np.zeros((), x.dtype))
    away = noise.rounded(x - center)
    y = np.log(total(noise.rounded(np.exp(away)), axes, noise, keep=True)) + center
    y = noise.rounded(np.asarray(y, dtype=x.dtype), np.maximum(np.abs(y), np.abs(center)))
    return y if keep else y.reshape(np.sum(x, axis=axes).shape)


def _prod(x: Array, axes: Axes, noise: NoiseSource, *, keep: bool) -> Array:
    y = np.asarray(np.prod(x, axis=axes, keepdims=keep, dtype=x.dtype))
    length = x.size // max(y.size, 1)
    return noise.rounded(y, np.sqrt(float(max(length, 1))) * np.abs(y))


_REDUCTIONS: dict[str, Callable[..., Array]] = {
    "ReduceL1": _l1,
    "ReduceL2": _l2,
    "ReduceSum": _sum,
    "ReduceMean": _mean,
    "ReduceSumSquare": _sum_square,
    "ReduceLogSum": _log_sum,
    "ReduceLogSumExp": _log_sum_exp,
    "ReduceProd": _prod,
}


@kernel(*_REDUCTIONS)
def reduce(call: Call, x: Array, axes: Array | None = None) -> Array:
    """A sum, mean, norm or product over axes."""
    chosen = reduced_axes(call, x, axes)
    keep = bool(call.attributes.get("keepdims", 1))
    return np.asarray(_REDUCTIONS[call.op](x, chosen, call.noise, keep=keep))


@kernel("ReduceMax", "ReduceMin")
def reduce_extreme(call: Call, x: Array, axes: Array | None = None) -> Array:
    """The largest or smallest over axes; of nothing, the type's lowest or highest value."""
    chosen = reduced_axes(call, x, axes)
    largest = call.op == "ReduceMax"
    if x.dtype == bool:
        some = np.any if largest else np.all
        return np.asarray(some(x, axis=chosen, keepdims=bool(call.attributes["keepdims"])))
    if x.dtype.kind == "f":
        bound = -np.inf if largest else np.inf
    else:
        bound = np.iinfo(x.dtype).min if largest else np.iinfo(x.dtype).max
    pick = np.max if largest else np.min
    keep = bool(call.attributes.get("keepdims", 1))
    return np.asarray(pick(x, axis=chosen, keepdims=keep, initial=x.dtype.type(bound)))


@kernel("CumSum", "CumProd")
def cumulate(call: Call, x: Array, axis: Array) -> Array:
    """Running sums or products along an axis, forwards or backwards, with or without its own."""
    place = int(np.asarray(axis).reshape(-1)[0]) % max(x.ndim, 1)
    backward = bool(call.attributes.get("reverse"))
    exclusive = bool(call.attributes.get("exclusive"))
    adds = call.op == "CumSum"
    function = np.cumsum if adds else np.cumprod

    def run(values: Array) -> Array:
        values = np.flip(values, place) if backward else values
        y = function(values, axis=place, dtype=values.dtype)
        if exclusive:
            y = np.roll(y, 1, place)
            first = [slice(None)] * y.ndim
            first[place] = slice(0, 1)
            y[tuple(first)] = 0 if adds else 1
        return np.asarray(np.flip(y, place) if backward else y)

    y = run(x)
    length = math.ceil(x.shape[place] / 2)
    if adds:
        single = run(np.not_equal(x, 0).astype(x.dtype)) <= 1 if call.noise.active else None
        exact = sums_of(x, single=single) if call.noise.active else None
        return call.noise.reduced(y, lambda: run(np.abs(x)), length, exact)
    return call.noise.rounded(y, np.sqrt(float(max(length, 1))) * np.abs(y))
