"""GridSample: images and volumes read between their pixels, at places that a grid gives.

AffineGrid, which makes such a grid, stands with it.

The modes are spelled ``bilinear`` and ``bicubic`` up to opset 19 and in ONNX Runtime's own
domain, ``linear`` and ``cubic`` from opset 20 on; they mean the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from isomorph.kernels.data_movement import integers
from isomorph.kernels.registry import kernel
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array

_CUBIC = -0.75


@dataclass(frozen=True, slots=True, kw_only=True)
class _Taps:
    """The pixels around each place along one axis, and how much of each is taken."""

    pixels: list[Array]
    weights: list[Array]


@kernel("GridSample", domain="com.microsoft")
@kernel("GridSample", since=16)
def grid_sample(call: Call, x: Array, grid: Array) -> Array:
    """Any number of axes; the grid's last one names them from the innermost outwards."""
    given = call.attributes
    padding = given.get("padding_mode", "zeros")
    corners = bool(given.get("align_corners", 0))
    mode = given.get("mode", "linear").removeprefix("bi")
    axes = []
    for axis, length in enumerate(x.shape[2:]):
        at = grid[..., grid.shape[-1] - 1 - axis]
        place = (at + 1) / 2 * (length - 1) if corners else ((at + 1) * length - 1) / 2
        # A place is a sum and a product, each rounded at the size of the axis.
        place = call.noise.rounded(place, np.abs(place) + length)
        axes.append(_taps(place, length, mode, padding, corners=corners))
    read = _weighed(x, axes, padding)
    if mode == "nearest":
        return read
    count = len(axes[0].pixels) ** len(axes)
    return call.noise.reduced(
        read, lambda: _weighed(np.abs(x), [_sizes(each) for each in axes], padding), count
    )


@kernel("AffineGrid", since=20)
def affine_grid(call: Call, theta: Array, size: Array) -> Array:
    """The places of every pixel after a linear map and a shift, innermost axis first."""
    lengths = integers(size)[2:]
    corners = bool(call.attributes.get("align_corners", 0))
    places = [_centers(length, corners=corners).astype(theta.dtype) for length in lengths]
    around = np.meshgrid(*places, indexing="ij")
    points = np.stack([*reversed(around), np.ones_like(around[0])], axis=-1)
    y = np.einsum("nij,...j->n...i", theta, points)
    return call.noise.reduced(
        y, lambda: np.einsum("nij,...j->n...i", np.abs(theta), np.abs(points)), points.shape[-1]
    )


def _centers(length: int, *, corners: bool) -> Array:
    if corners:
        return np.linspace(-1.0, 1.0, length) if length > 1 else np.zeros(1)
    return (2.0 * np.arange(length) + 1.0) / length - 1.0


def _taps(place: Array, length: int, mode: str, padding: str, *, corners: bool) -> _Taps:
    # A cubic curve needs its neighbors where they are; they are brought inside one by one.
    if mode != "cubic":
        place = _inside(place, length, padding, corners=corners)
    first = np.rint(place) if mode == "nearest" else np.floor(place)
    part = place - first
    if mode == "nearest":
        weights = [np.ones_like(place)]
    elif mode == "linear":
        weights = [1 - part, part]
    else:
        weights = [_far(1 + part), _near(part), _near(1 - part), _far(2 - part)]
        first = first - 1
    pixels = [first + step for step in range(len(weights))]
    if mode == "cubic":
        pixels = [np.rint(_inside(each, length, padding, corners=corners)) for each in pixels]
    return _Taps(pixels=pixels, weights=weights)


def _near(t: Array) -> Array:
    return np.asarray(((_CUBIC + 2) * t - (_CUBIC + 3)) * t * t + 1)


def _far(t: Array) -> Array:
    return np.asarray(((_CUBIC * t - 5 * _CUBIC) * t + 8 * _CUBIC) * t - 4 * _CUBIC)


def _inside(place: Array, length: int, padding: str, *, corners: bool) -> Array:
    """Where a place beyond the edge is read instead; zeros are read where they lie."""
    if padding == "border":
        return np.clip(place, 0, length - 1)
    if padding != "reflection":
        return place
    low, span = (0.0, length - 1.0) if corners else (-0.5, float(length))
    if span <= 0:
        return np.zeros_like(place)
    turned = np.mod(place - low, 2 * span)
    reflected = low + np.minimum(turned, 2 * span - turned)
    return np.clip(reflected, 0, length - 1)


def _weighed(x: Array, axes: list[_Taps], padding: str) -> Array:
    """The sum over all neighbors, each with the product of its weights."""
    channels = np.moveaxis(x, 1, -1)
    batch = np.arange(x.shape[0]).reshape([-1] + [1] * len(axes))
    total = np.zeros(1, x.dtype)
    for choice in product(range(len(axes[0].pixels)), repeat=len(axes)):
        inside, weight, index = np.array(True), np.array(1.0, x.dtype), [batch]
        for axis, tap in zip(axes, choice, strict=True):
            pixel, length = axis.pixels[tap], x.shape[len(index) + 1]
            inside = inside & (pixel >= 0) & (pixel <= length - 1)
            # A grid may hold NaN or infinities; what is read there lies outside anyway.
            known = np.where(np.isfinite(pixel), pixel, 0)
            index.append(np.clip(known, 0, length - 1).astype(np.int64))
            weight = weight * axis.weights[tap]
        read = channels[tuple(index)]
        if padding == "zeros":
            read = np.where(inside[..., None], read, 0)
        total = total + read * weight[..., None]
    return np.ascontiguousarray(np.moveaxis(total, -1, 1)).astype(x.dtype, copy=False)


def _sizes(taps: _Taps) -> _Taps:
    return _Taps(pixels=taps.pixels, weights=[np.abs(each) for each in taps.weights])
