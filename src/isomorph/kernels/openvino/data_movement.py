"""Operators of OpenVINO that move data: their axes and bounds are inputs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from isomorph.kernels.openvino.layers import OPENVINO, declared_type, numbers, onnx
from isomorph.kernels.registry import kernel
from isomorph.kernels.strided_slice import StridedSlice
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array


@kernel("Transpose", domain=OPENVINO)
def transpose(call: Call, x: Array, order: Array) -> Array:
    """In the given order of axes; reversed where none is given."""
    return np.transpose(x, numbers(order) or None)


@kernel("Gather", domain=OPENVINO)
def gather(call: Call, x: Array, indices: Array, axis: Array) -> Array:
    """Slices of an axis, for each element of leading axes by itself where these are batches."""
    place = numbers(axis)[0] % x.ndim
    batch = call.attributes["batch_dims"] % max(np.ndim(indices), 1)
    if not batch:
        return np.asarray(onnx(call, "Gather", x, np.asarray(indices), axis=place))
    rows = x.reshape(-1, *x.shape[batch:])
    chosen = np.asarray(indices).reshape(-1, *indices.shape[batch:])
    parts = [np.take(row, each, place - batch) for row, each in zip(rows, chosen, strict=True)]
    return np.stack(parts).reshape(*x.shape[:batch], *parts[0].shape)


@kernel("Split", domain=OPENVINO)
def split(call: Call, x: Array, axis: Array) -> tuple[Array, ...]:
    """Into equal parts."""
    return tuple(np.split(x, call.outputs, numbers(axis)[0]))


@kernel("VariadicSplit", domain=OPENVINO)
def split_by_lengths(call: Call, x: Array, axis: Array, lengths: Array) -> tuple[Array, ...]:
    """Into parts of given lengths; one of them may be what is left."""
    place, sizes = numbers(axis)[0], list(numbers(lengths))
    if -1 in sizes:
        sizes[sizes.index(-1)] = x.shape[place] - sum(size for size in sizes if size >= 0)
    return tuple(np.split(x, np.cumsum(sizes)[:-1], place))


@kernel("Slice", domain=OPENVINO)
def cut(  # noqa: PLR0917
    call: Call, x: Array, start: Array, stop: Array, step: Array, axes: Array | None = None
) -> Array:
    """ONNX's operator with another order of inputs."""
    given = [None if each is None else np.asarray(each) for each in (start, stop, axes, step)]
    return np.asarray(onnx(call, "Slice", x, *given))


@kernel("StridedSlice", domain=OPENVINO)
def strided(call: Call, x: Array, begin: Array, end: Array, stride: Array | None = None) -> Array:
    """Bounds per axis, which masks replace: the whole axis, a new one, one that goes."""
    first = numbers(begin)
    words = {"begins": "begin", "ends": "end", "news": "new_axis", "shrinks": "shrink_axis",
             "ellipsis": "ellipsis"}  # fmt: skip
    masks = {key: _bits(call.attributes[f"{word}_mask"]) for key, word in words.items()}
    rule = StridedSlice(
        begin=first, end=numbers(end), strides=numbers(stride) or (1,) * len(first), **masks
    )
    return np.asarray(x[tuple(rule.cuts(x.shape))])


def _bits(mask: Sequence[int]) -> int:
    """A list of flags as bits."""
    return sum(1 << place for place, flag in enumerate(mask) if flag)


@kernel("Broadcast", domain=OPENVINO)
def broadcast(call: Call, x: Array, shape: Array, axes: Array | None = None) -> Array:
    """To a shape; ``explicit``: the axes of the input are those of the output."""
    wanted, mode = numbers(shape), call.attributes["mode"]
    if mode == "bidirectional":
        return np.asarray(onnx(call, "Expand", x, np.asarray(shape)))
    if mode == "explicit" and axes is not None:
        places = numbers(axes)
        x = x.reshape([x.shape[places.index(k)] if k in places else 1 for k in range(len(wanted))])
    return np.broadcast_to(x, wanted).copy()


@kernel("Pad", domain=OPENVINO)
def pad(call: Call, x: Array, begin: Array, end: Array, value: Array | None = None) -> Array:
    """By a constant, an edge or a reflection; shrunk where negative."""
    mode = call.attributes["mode"]
    if mode == "symmetric":
        return np.pad(x, list(zip(numbers(begin), numbers(end), strict=True)), "symmetric")
    given = np.asarray((*numbers(begin), *numbers(end)))
    return np.asarray(onnx(call, "Pad", x, given, value, mode=mode))


@kernel("ShapeOf", domain=OPENVINO)
def shape_of(call: Call, x: Array) -> Array:
    """The sizes of a tensor."""
    return np.asarray(x.shape, declared_type(call))


@kernel("Range", domain=OPENVINO)
def span(call: Call, start: Array, stop: Array, step: Array) -> Array:
    """Numbers at equal distances."""
    low, high, by = (np.ravel(each)[0] for each in (start, stop, step))
    found: Array = np.asarray(np.arange(low, high, by)).astype(declared_type(call))
    return found


@kernel("OneHot", domain=OPENVINO)
def one_hot(call: Call, indices: Array, depth: Array, on: Array, off: Array) -> Array:
    """The two values are inputs of their own."""
    values = np.stack([np.asarray(off).reshape(()), np.asarray(on).reshape(())])
    axis = call.attributes["axis"]
    hot = onnx(call, "OneHot", indices, np.asarray(depth), values, axis=axis)
    # An index below zero is none, where ONNX counts it from the end.
    below = np.expand_dims(np.asarray(indices) < 0, axis)
    return np.asarray(np.where(below, values[0], hot))


@kernel("TopK", domain=OPENVINO)
def top_k(call: Call, x: Array, k: Array) -> tuple[Array, Array]:
    """The largest or smallest, by value or by place."""
    given, axis = call.attributes, call.attributes["axis"] % x.ndim
    largest = int(given["mode"] == "max")
    values, places = onnx(call, "TopK", x, np.ravel(k), outputs=2, axis=axis, largest=largest,
                          sorted=1)  # fmt: skip
    if given["sort"] == "index":
        order = np.argsort(places, axis)
        values, places = (np.take_along_axis(each, order, axis) for each in (values, places))
    return values, places.astype(declared_type(call, 1))


@kernel("NonZero", domain=OPENVINO)
def non_zero(call: Call, x: Array) -> Array:
    """The places of what is not zero."""
    return np.asarray(np.nonzero(x)).astype(declared_type(call))


@kernel("ScatterUpdate", domain=OPENVINO)
def scatter_update(call: Call, x: Array, indices: Array, updates: Array, axis: Array) -> Array:
    """Whole slices of an axis replaced."""
    place, chosen = numbers(axis)[0] % x.ndim, np.asarray(indices)
    y = np.moveaxis(x.copy(), place, 0)
    kept = tuple(range(place, place + chosen.ndim))
    y[chosen] = np.moveaxis(updates, kept, tuple(range(chosen.ndim)))
    return np.moveaxis(y, 0, place)


@kernel("ScatterElementsUpdate", domain=OPENVINO)
def scatter_elements(call: Call, x: Array, indices: Array, updates: Array, axis: Array) -> Array:
    """Single elements replaced or combined."""
    how = {"sum": "add", "prod": "mul"}.get(call.attributes["reduction"])
    how = how or call.attributes["reduction"]
    place = numbers(axis)[0]
    return np.asarray(onnx(call, "ScatterElements", x, indices, updates, axis=place, reduction=how))


@kernel("Interpolate", domain=OPENVINO)
def interpolate(
    call: Call,
    x: Array,
    target: Array,
    second: Array | None = None,
    third: Array | None = None,
) -> Array:
    """ONNX's Resize; the older form has sizes and scales, the newer one of them."""
    given = call.attributes
    by_sizes = given["shape_calculation_mode"] == "sizes"
    newer = given["version"] == "opset11"
    scales, axes = (target, second) if newer else (second, third)
    places = numbers(axes) or tuple(range(x.ndim))
    mode = {"linear_onnx": "linear"}.get(given["mode"], given["mode"])
    return np.asarray(
        onnx(
            call, "Resize", x, None, None if by_sizes else scales,
            np.asarray(target) if by_sizes else None,
            axes=places, mode=mode, antialias=given["antialias"],
            coordinate_transformation_mode=given["coordinate_transformation_mode"],
            nearest_mode={"simple": "floor"}.get(given["nearest_mode"], given["nearest_mode"]),
            cubic_coeff_a=given["cubic_coeff_a"],
        )
    )  # fmt: skip
