"""ONNX Runtime's operators that read an image between its pixels."""

from __future__ import annotations

import numpy as np

from isomorph.kernels.noise import Array
from isomorph.kernels.table import Call, kernel

MICROSOFT = "com.microsoft"


@kernel("CropAndResize", domain=MICROSOFT)
def crop_and_resize(call: Call, x: Array, boxes: Array, batch: Array, size: Array) -> Array:
    """Boxes in fractions of the image, resized corner to corner."""
    given = call.attributes
    outside = float(given.get("extrapolation_value", 0.0))
    rows, columns = (int(each) for each in np.reshape(size, -1))
    crops = np.empty((len(boxes), x.shape[1], rows, columns), x.dtype)
    for at, (image, box) in enumerate(zip(x[batch.astype(np.int64)], boxes, strict=True)):
        ys, down = _places(box[0], box[2], image.shape[1], rows)
        xs, across = _places(box[1], box[3], image.shape[2], columns)
        if given.get("mode", "bilinear") == "nearest":
            near = (np.clip(np.floor(p + 0.5), 0, n - 1).astype(int) for p, n in
                    ((ys, image.shape[1]), (xs, image.shape[2])))  # fmt: skip
            read = image[:, next(near)][:, :, next(near)]
        else:
            read = _between(call, image, ys, xs)
        crops[at] = np.where(down[:, None] & across, read, outside)
    return crops


def _places(start: Array, end: Array, length: int, count: int) -> tuple[Array, Array]:
    """Where ``count`` samples lie, and whether that is inside."""
    if count > 1:
        places = start * (length - 1) + np.arange(count) * (
            (end - start) * (length - 1) / (count - 1)
        )
    else:
        places = np.reshape(0.5 * (start + end) * (length - 1), 1)
    return places, (places >= 0) & (places <= length - 1)


def _between(call: Call, image: Array, ys: Array, xs: Array) -> Array:
    top, left = (np.clip(np.floor(p), 0, n - 1).astype(int) for p, n in
                 ((ys, image.shape[1]), (xs, image.shape[2])))  # fmt: skip
    bottom = np.minimum(top + 1, image.shape[1] - 1)
    right = np.minimum(left + 1, image.shape[2] - 1)
    down, across = (ys - top)[:, None], xs - left
    upper = image[:, top][:, :, left] * (1 - across) + image[:, top][:, :, right] * across
    lower = image[:, bottom][:, :, left] * (1 - across) + image[:, bottom][:, :, right] * across
    y = upper * (1 - down) + lower * down
    # The place itself is rounded in pixels, so its error is that of the image's own steps.
    return np.asarray(call.noise.rounded(y, np.abs(image).max() * max(image.shape[1:])))


@kernel("GridSample", domain=MICROSOFT)
def grid_sample(call: Call, x: Array, grid: Array) -> Array:
    """ONNX's GridSample of opset 16, under an older name and for images alone."""
    given = call.attributes
    padding = given.get("padding_mode", "zeros")
    corners = bool(given.get("align_corners", 0))
    mode = given.get("mode", "bilinear")
    xs, ys = (_denormalised(grid[..., k], x.shape[3 - k], corners=corners) for k in range(2))
    if padding == "border" and mode != "bicubic":
        xs, ys = np.clip(xs, 0, x.shape[3] - 1), np.clip(ys, 0, x.shape[2] - 1)
    if padding == "reflection":
        xs, ys = (
            _reflected(place, length, corners=corners)
            for place, length in ((xs, x.shape[3]), (ys, x.shape[2]))
        )
    weights_x, first_x = _taps(xs, mode)
    weights_y, first_y = _taps(ys, mode)
    y = np.zeros((x.shape[0], x.shape[1], *xs.shape[1:]), x.dtype)
    size = np.zeros_like(y)
    for row, down in enumerate(weights_y):
        for column, across in enumerate(weights_x):
            pixel = _pixel(x, first_y + row, first_x + column, padding, corners=corners)
            y = y + pixel * (down * across)[:, None]
            size = size + np.abs(pixel)
    if mode == "nearest":
        return np.asarray(y)
    return np.asarray(call.noise.rounded(y, size * max(x.shape[2:])))


def _denormalised(place: Array, length: int, *, corners: bool) -> Array:
    """From −1…1 to pixels."""
    return (place + 1) / 2 * (length - 1) if corners else ((place + 1) * length - 1) / 2


def _reflected(place: Array, length: int, *, corners: bool) -> Array:
    low, high = (0.0, length - 1.0) if corners else (-0.5, length - 0.5)
    span = high - low
    if span <= 0:
        return np.zeros_like(place)
    turned = np.mod(place - low, 2 * span)
    return np.asarray(low + np.minimum(turned, 2 * span - turned))


def _taps(place: Array, mode: str) -> tuple[list[Array], Array]:
    """The weights of the pixels around each place, and the first of them."""
    if mode == "nearest":
        return [np.ones_like(place)], np.rint(place).astype(np.int64)
    low = np.floor(place)
    part = place - low
    if mode != "bicubic":
        return [1 - part, part], low.astype(np.int64)
    a = -0.75
    near = [(((a + 2) * t - (a + 3)) * t * t + 1) for t in (part, 1 - part)]
    far = [(((a * t - 5 * a) * t + 8 * a) * t - 4 * a) for t in (1 + part, 2 - part)]
    return [far[0], near[0], near[1], far[1]], low.astype(np.int64) - 1


def _pixel(x: Array, row: Array, column: Array, padding: str, *, corners: bool) -> Array:
    height, width = x.shape[2:]
    inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
    if padding == "reflection":
        row, column = (
            np.rint(_reflected(place.astype(np.float64), length, corners=corners))
            for place, length in ((row, height), (column, width))
        )
    row = np.clip(row, 0, height - 1).astype(np.int64)
    column = np.clip(column, 0, width - 1).astype(np.int64)
    batch = np.arange(x.shape[0])[:, None, None]
    pixel = np.moveaxis(x, 1, -1)[batch, row, column]
    pixel = np.moveaxis(pixel, -1, 1)
    return np.where(inside[:, None], pixel, 0) if padding == "zeros" else pixel
