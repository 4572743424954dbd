"""Edge operators that sample images, use statistics of the batch, or pick single elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from isomorph.kernels.executorch.arithmetic import edge, onnx, stated
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array

_MODES = ("bilinear", "nearest", "bicubic")
_PADDING = ("zeros", "border", "reflection")


@edge("grid_sampler_2d")
def grid_sample(call: Call, x: Array, grid: Array) -> Any:  # noqa: ANN401
    """The image at the coordinates of a grid."""
    given = call.attributes
    return onnx(
        call, "GridSample", x, grid, mode=_MODES[given["interpolation_mode"]],
        padding_mode=_PADDING[given["padding_mode"]],
        align_corners=int(bool(given["align_corners"])),
    )  # fmt: skip


@edge("_upsample_bilinear2d_aa")
def smooth_resize(call: Call, x: Array) -> Any:  # noqa: ANN401
    """To a size, with windows that grow where the image shrinks."""
    corners = call.attributes.get("align_corners")
    target = np.asarray((*x.shape[:2], *call.attributes["output_size"]))
    return onnx(
        call, "Resize", x, None, None, target, mode="linear", antialias=1, exclude_outside=1,
        coordinate_transformation_mode="align_corners" if corners else "half_pixel",
    )  # fmt: skip


@edge("_native_batch_norm_legit")
def batch_statistics(call: Call, x: Array, *rest: Array | None) -> tuple[Array, ...]:
    """By the statistics of the batch, with mean and inverse deviation."""
    w, b = (*rest, None, None)[:2]
    channels, epsilon = x.shape[1], call.attributes["eps"]
    w = np.ones(channels, x.dtype) if w is None else w
    b = np.zeros(channels, x.dtype) if b is None else b
    # All elements of a channel as one instance.
    moved = np.moveaxis(x, 1, 0)
    y = np.asarray(
        onnx(call, "InstanceNormalization", moved.reshape(1, channels, -1), w, b, epsilon=epsilon)
    )
    rows = moved.reshape(channels, -1)
    found = np.moveaxis(y.reshape(moved.shape), 0, 1)
    return found, rows.mean(-1), 1.0 / np.sqrt(rows.var(-1) + epsilon)


@edge("scatter")
def scatter(call: Call, x: Array, places: Array, written: Array | None = None) -> Any:  # noqa: ANN401
    """Elements replaced at places along an axis, by those of a tensor or by one number."""
    if written is None:
        written = np.full(places.shape, call.attributes["value"], x.dtype)
    parts = tuple(slice(size) for size in places.shape)
    return onnx(call, "ScatterElements", x, places, written[parts], axis=call.attributes["dim"])


@edge("diagonal_copy")
def diagonal(call: Call, x: Array) -> Array:
    """What lies on a diagonal of two axes, as the last axis."""
    first, second = int(stated(call, "dim1", 0)), int(stated(call, "dim2", 1))
    return np.diagonal(x, int(stated(call, "offset", 0)), first, second).copy()


@edge("nonzero")
def places_of_non_zero(call: Call, x: Array) -> Array:
    """The places of what is not zero, one in each row."""
    return np.argwhere(x)
