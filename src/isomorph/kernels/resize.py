"""Resize and Upsample: interpolation along one axis after another.

How large the result is, and which pixel is nearest, depend on shapes and stored scales alone,
so they are decided in float32, as declared: 10 · 0.7f is 7 there, and 6 in float64.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from isomorph.kernels.data_movement import integers
from isomorph.kernels.registry import kernel
from isomorph.oracle.call import Call
from isomorph.oracle.exact_sums import on_grid, sums_of
from isomorph.oracle.noise import Array, NoiseSource

_PLAIN = frozenset({"asymmetric", "half_pixel", "pytorch_half_pixel"})
"""Modes whose coordinate is that of the output, half a step off or not, divided by the scale."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One axis to be resized."""

    place: int
    size: int
    output: int
    scale: float
    mode: str
    start: float = 0.0
    end: float = 1.0

    def coordinates(self, kind: type[np.float32 | np.float64]) -> Array:
        """Where each output element lies on the input, computed in the given float type."""
        x: Array = np.arange(self.output).astype(kind)
        scale, half, one = kind(self.scale), kind(0.5), kind(1)
        width = kind(self.size) * scale
        if self.mode == "asymmetric":
            return np.asarray(x / scale)
        if self.mode == "align_corners":
            return (
                np.asarray(x * kind(self.size - 1) / (width - one)) if width != 1 else x * kind(0)
            )
        if self.mode == "tf_crop_and_resize":
            first, extent = kind(self.start), kind(self.end) - kind(self.start)
            last = kind(self.size - 1)
            if width == 1:
                return np.full_like(x, extent * last * half + first * last)
            return np.asarray(x * extent * last / (width - one) + first * last)
        if self.mode == "pytorch_half_pixel" and width == 1:
            return np.full_like(x, -half)
        if self.mode == "tf_half_pixel_for_nn":
            return np.asarray((x + half) / scale)
        y = (x + half) / scale - half
        if self.mode == "half_pixel_symmetric":
            y = y + kind(self.size) * half * (one - kind(self.output) / width)
        return np.asarray(y)


@kernel("Resize", since=11)
def resize(
    call: Call,
    x: Array,
    roi: Array | None = None,
    scales: Array | None = None,
    sizes: Array | None = None,
) -> Array:
    """By scales or to sizes, in any mode."""
    places = [axis % x.ndim for axis in call.attributes.get("axes") or range(x.ndim)]
    if scales is not None and np.size(scales):
        factors = [float(factor) for factor in np.asarray(scales).reshape(-1)]
        outputs = [_floor(x.shape[p], factor) for p, factor in zip(places, factors, strict=True)]
    else:
        outputs, factors = _to_sizes(call, [x.shape[p] for p in places], integers(sizes))
    edges = _edges(roi, len(places))
    mode = call.attributes.get("coordinate_transformation_mode", "half_pixel")
    axes = [
        Axis(
            place=place,
            size=x.shape[place],
            output=output,
            scale=factor,
            mode=mode,
            start=start,
            end=end,
        )
        for place, output, factor, (start, end) in zip(places, outputs, factors, edges, strict=True)
    ]
    return _resized(call, x, axes)


@kernel("Resize", "Upsample")
def upsample(call: Call, x: Array, scales: Array | None = None) -> Array:
    """The older form: by scales, from the corner, the nearest pixel below."""
    given = call.attributes.get("scales") if scales is None else np.asarray(scales).reshape(-1)
    if given is None:
        width, height = call.attributes["width_scale"], call.attributes["height_scale"]
        given = (1.0, 1.0, height, width)
    axes = [
        Axis(
            place=place,
            size=size,
            output=_floor(size, float(factor)),
            scale=float(factor),
            mode="asymmetric",
        )
        for place, (size, factor) in enumerate(zip(x.shape, given, strict=True))
    ]
    return _resized(call, x, axes, nearest="floor")


def _resized(call: Call, x: Array, axes: list[Axis], nearest: str | None = None) -> Array:
    kind = call.attributes.get("mode", "nearest")
    how = nearest or call.attributes.get("nearest_mode", "round_prefer_floor")
    outside: Array | None = None
    y = x if x.dtype.kind == "f" or kind == "nearest" else x.astype(np.float64)
    for axis in axes:
        if axis.mode == "tf_crop_and_resize":
            at = axis.coordinates(np.float64)
            beyond = (at < 0) | (at > axis.size - 1)
            lying = beyond.reshape([-1 if p == axis.place else 1 for p in range(x.ndim)])
            outside = lying if outside is None else outside | lying
        if axis.output == axis.size and axis.scale == 1.0 and axis.mode != "tf_crop_and_resize":
            continue
        if kind == "nearest":
            y = np.take(y, _nearest(axis, how), axis=axis.place)
        else:
            y = _interpolated(call, y, axis, cubic=kind == "cubic")
    if outside is not None:
        y = np.where(outside, np.array(call.attributes.get("extrapolation_value", 0.0), y.dtype), y)
    return np.asarray(y).astype(x.dtype, copy=False)


def _nearest(axis: Axis, how: str) -> Array:
    at = axis.coordinates(np.float32)
    if how == "round_prefer_floor":
        at = np.ceil(at - np.float32(0.5))
    elif how == "round_prefer_ceil":
        at = np.floor(at + np.float32(0.5))
    else:
        at = np.floor(at) if how == "floor" else np.ceil(at)
    return np.clip(at.astype(np.int64), 0, axis.size - 1)


def _interpolated(call: Call, x: Array, axis: Axis, *, cubic: bool) -> Array:
    noise: NoiseSource = call.noise
    at = axis.coordinates(np.float64)
    plain = not cubic and not call.attributes.get("antialias") and axis.mode in _PLAIN
    halved = plain and math.frexp(axis.scale)[0] == 0.5
    if noise.active and not (halved and on_grid(at)):
        # A coordinate is a quotient and a difference, each rounded at its own size; where a power
        # of two divides, neither is.
        at = noise.rounded(at, 2.0 * (np.abs(at) + 0.5))
    squeeze = min(axis.scale, 1.0) if call.attributes.get("antialias") else 1.0
    reach = math.ceil((2.0 if cubic else 1.0) / squeeze)
    offsets = np.arange(1 - reach, reach + 1)
    places = np.floor(at).astype(np.int64)[:, None] + offsets
    distance = np.abs(places - at[:, None]) * squeeze
    a = call.attributes.get("cubic_coeff_a", -0.75)
    weights = _cubic(distance, a) if cubic else np.clip(1.0 - distance, 0.0, 1.0)
    if call.attributes.get("exclude_outside"):
        weights = np.where((places < 0) | (places >= axis.size), 0.0, weights)
    if squeeze < 1.0 or call.attributes.get("exclude_outside"):
        weights = weights / weights.sum(axis=1, keepdims=True)
    weights = weights.astype(x.dtype)
    places = np.clip(places, 0, axis.size - 1)

    def taps(values: Array, factors: Array) -> Array:
        shape = [-1 if p == axis.place else 1 for p in range(x.ndim)]
        total = np.zeros((), x.dtype)
        for tap in range(factors.shape[1]):
            part = np.take(values, places[:, tap], axis=axis.place)
            total = total + part * factors[:, tap].reshape(shape)
        return np.asarray(total)

    y = taps(x, weights)
    exact = sums_of(x, weights) if noise.active else None
    return noise.reduced(y, lambda: taps(np.abs(x), np.abs(weights)), weights.shape[1], exact)


def _cubic(t: Array, a: float) -> Array:
    near = ((a + 2.0) * t - (a + 3.0)) * t * t + 1.0
    far = ((t - 5.0) * t + 8.0) * t * a - 4.0 * a
    return np.where(t <= 1.0, near, np.where(t < 2.0, far, 0.0))


def _floor(size: int, factor: float) -> int:
    return math.floor(np.float32(size) * np.float32(factor))


def _to_sizes(
    call: Call, inputs: list[int], wanted: tuple[int, ...]
) -> tuple[list[int], list[float]]:
    policy = call.attributes.get("keep_aspect_ratio_policy", "stretch")
    ratios = [out / size for out, size in zip(wanted, inputs, strict=True)]
    if policy == "stretch":
        return list(wanted), ratios
    common = min(ratios) if policy == "not_larger" else max(ratios)
    return [math.floor(common * size + 0.5) for size in inputs], [common] * len(inputs)


def _edges(roi: Array | None, count: int) -> list[tuple[float, float]]:
    if roi is None or not np.size(roi):
        return [(0.0, 1.0)] * count
    values = [float(value) for value in np.asarray(roi).reshape(-1)]
    return list(zip(values[:count], values[count:], strict=True))
