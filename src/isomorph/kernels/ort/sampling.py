"""ONNX Runtime's operators that read an image between its pixels."""

from __future__ import annotations

import numpy as np

from isomorph.kernels.registry import kernel
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array

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
