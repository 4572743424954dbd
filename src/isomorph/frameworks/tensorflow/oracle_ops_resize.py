"""Images resized and cropped. TensorFlow does it in float32, whatever it is given."""

from __future__ import annotations

import numpy as np

from isomorph.frameworks.tensorflow.oracle_ops import OPSET, tf_kernel
from isomorph.kernels.registry import standard
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array, NoiseSource

_TABLE_SIZE = 1024
"""TensorFlow reads the weights of cubic interpolation from a table with this many places."""


@tf_kernel("ResizeBilinear")
def resize_bilinear(call: Call, x: Array, size: Array) -> Array:
    """Between the four nearest pixels."""
    mode = "asymmetric"
    if call.attributes["align_corners"]:
        mode = "align_corners"
    elif call.attributes["half_pixel_centers"]:
        mode = "half_pixel"
    sizes = np.array([x.shape[0], *np.asarray(size).tolist(), x.shape[3]])
    wide = np.asarray(x, np.float64)
    y = standard(
        call, "Resize", wide, None, None, sizes, version=OPSET,
        mode="linear", coordinate_transformation_mode=mode,
    )  # fmt: skip
    return np.asarray(y)


@tf_kernel("ResizeBicubic")
def resize_bicubic(call: Call, x: Array, size: Array) -> Array:
    """Between the sixteen nearest pixels, one axis after the other."""
    y = np.asarray(x, np.float64)
    for axis, output in ((1, int(size[0])), (2, int(size[1]))):
        y = _resized(call, y, axis, output)
    return y


def _resized(call: Call, x: Array, axis: int, output: int) -> Array:
    places, weights = _cubic(call, x.shape[axis], output)
    shape = [-1 if place == axis else 1 for place in range(x.ndim)]

    def taps(values: Array, factors: Array) -> Array:
        parts = (
            np.take(values, places[:, tap], axis=axis) * factors[:, tap].reshape(shape)
            for tap in range(4)
        )
        return np.asarray(sum(parts))

    return call.noise.reduced(taps(x, weights), lambda: taps(np.abs(x), np.abs(weights)), 4)


def _cubic(call: Call, size: int, output: int) -> tuple[Array, Array]:
    """Four places and weights for each output; decided by shapes alone, so in float32."""
    keys = bool(call.attributes["half_pixel_centers"])
    at = _coordinates(size, output, centers=keys, corners=bool(call.attributes["align_corners"]))
    first = np.floor(at).astype(np.int64)
    offset = np.rint((at - first.astype(np.float32)) * np.float32(_TABLE_SIZE)).astype(np.int64)
    a = -0.5 if keys else -0.75
    near = offset / _TABLE_SIZE
    distance = np.stack([1.0 + near, near, 1.0 - near, 2.0 - near], axis=1)
    inner = ((a + 2.0) * distance - (a + 3.0)) * distance**2 + 1.0
    outer = ((a * distance - 5.0 * a) * distance + 8.0 * a) * distance - 4.0 * a
    weights = np.where(np.array([False, True, True, False]), inner, outer)
    wanted = first[:, None] + np.arange(-1, 3)
    places = np.clip(wanted, 0, size - 1)
    if keys:
        # What lies outside the image has no weight, and the rest is scaled up to one.
        weights = np.where(places == wanted, weights, 0.0)
        weights = weights / weights.sum(axis=1, keepdims=True)
    return places, weights


def _coordinates(size: int, output: int, *, centers: bool, corners: bool) -> Array:
    ends = corners and output > 1
    scale = np.float32(size - 1) / np.float32(output - 1) if ends else np.float32(size / output)
    x = np.arange(output, dtype=np.float32)
    if centers:
        return np.asarray((x + np.float32(0.5)) * scale - np.float32(0.5))
    return np.asarray(x * scale)


@tf_kernel("CropAndResize")
def crop_and_resize(call: Call, image: Array, boxes: Array, owner: Array, size: Array) -> Array:
    """Boxes cut out of images and brought to one size; outside there is a fixed value."""
    height, width = (int(extent) for extent in size)
    y = np.empty((boxes.shape[0], height, width, image.shape[3]), np.float64)
    for place, (box, source) in enumerate(zip(boxes, owner, strict=True)):
        pixels = np.asarray(image[int(source)], np.float64)
        down = (box[0], box[2], pixels.shape[0], height)
        across = (box[1], box[3], pixels.shape[1], width)
        y[place] = _sampled(call, pixels, down, across)
    return y


Side = tuple[Array, Array, int, int]
"""Start and end of a box along one axis, the size of the image, the size of the result."""


def _spread(side: Side, kind: type[np.float32 | np.float64]) -> Array:
    """Where the samples of one axis lie, computed in the given float type."""
    start, end, size, output = kind(side[0]), kind(side[1]), side[2], side[3]
    last = kind(size - 1)
    if output == 1:
        return np.array([kind(0.5) * (start + end) * last])
    step = (end - start) * last / kind(output - 1)
    places: Array = np.arange(output).astype(kind)
    return np.asarray(start * last + places * step)


def _sampled(call: Call, pixels: Array, down: Side, across: Side) -> Array:
    # Whether a sample lies outside, and which pixel is nearest, is decided as TensorFlow decides.
    decided = [_spread(side, np.float32) for side in (down, across)]
    inside = [
        (at >= 0) & (at <= side[2] - 1) for at, side in zip(decided, (down, across), strict=True)
    ]
    if call.attributes["method"] == "nearest":
        nearest = [
            _bounded(np.floor(at + np.float32(0.5)), side[2])
            for at, side in zip(decided, (down, across), strict=True)
        ]
        y = pixels[np.ix_(*nearest)]
    else:
        y = pixels
        for axis, side in enumerate((down, across)):
            at = _spread(side, np.float64)
            if call.noise.active:
                sizes = abs(float(side[0])) * side[2] + np.abs(at)
                at = call.noise.rounded(at, np.where(at == 0, 0.0, sizes))
            y = _between(y, np.clip(at, 0, side[2] - 1), call.noise, axis)
    seen = inside[0][:, None] & inside[1]
    return np.where(seen[..., None], y, call.attributes["extrapolation_value"])


def _bounded(at: Array, size: int) -> Array:
    return np.clip(at, 0, size - 1).astype(np.int64)


def _between(values: Array, at: Array, noise: NoiseSource, axis: int) -> Array:
    below, above = np.floor(at).astype(np.int64), np.ceil(at).astype(np.int64)
    share = (at - below).reshape([-1 if place == axis else 1 for place in range(values.ndim)])
    one, other = np.take(values, below, axis), np.take(values, above, axis)
    y = one + (other - one) * share
    return noise.rounded(y, np.abs(one) + np.abs(other - one)) if noise.active else y
