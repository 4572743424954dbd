"""Edge operators that move, look up or make numbers, and windows over them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from isomorph.kernels import rearrangement
from isomorph.kernels.executorch.arithmetic import edge, onnx, pair, stated
from isomorph.oracle.call import Call
from isomorph.oracle.dtypes import is_float, numpy_dtype
from isomorph.oracle.noise import Array


@edge("avg_pool2d")
def average_pool(call: Call, x: Array) -> Array:
    """The mean of every window."""
    kernel = pair(call.attributes["kernel_size"], 2)
    pads = pair(stated(call, "padding", 0) or 0, 2)
    strides = stated(call, "stride", ()) or kernel
    divisor = call.attributes.get("divisor_override")
    counted = bool(stated(call, "count_include_pad", True)) or divisor is not None
    y = onnx(
        call, "AveragePool", x, kernel_shape=kernel, strides=pair(strides, 2), pads=pads + pads,
        ceil_mode=int(bool(stated(call, "ceil_mode", False))), count_include_pad=int(counted),
    )  # fmt: skip
    return np.asarray(y if divisor is None else y * (math.prod(kernel) / divisor))


@edge("max_pool2d_with_indices")
def max_pool(call: Call, x: Array) -> tuple[Array, Array]:
    """The largest of every window, and where in its plane it stood."""
    kernel = pair(call.attributes["kernel_size"], 2)
    pads = pair(stated(call, "padding", 0) or 0, 2)
    strides = stated(call, "stride", ()) or kernel
    y, where = onnx(
        call, "MaxPool", x, outputs=2, kernel_shape=kernel, strides=pair(strides, 2),
        pads=pads + pads, dilations=pair(stated(call, "dilation", 1) or 1, 2),
        ceil_mode=int(bool(stated(call, "ceil_mode", False))),
    )  # fmt: skip
    return y, where % math.prod(x.shape[2:])


@edge("_adaptive_avg_pool2d")
def adaptive_average_pool(call: Call, x: Array) -> Array:
    """Means of as many windows as are asked for, which may overlap."""
    parts = []
    height, width = pair(call.attributes["output_size"], 2)
    for row in range(height):
        top, bottom = _ends(row, height, x.shape[-2])
        for column in range(width):
            left, right = _ends(column, width, x.shape[-1])
            block = x[..., top:bottom, left:right]
            parts.append(onnx(call, "ReduceMean", block, axes=(-2, -1), keepdims=0))
    return np.stack(parts, axis=-1).reshape(*x.shape[:-2], height, width)


def _ends(place: int, count: int, size: int) -> tuple[int, int]:
    return place * size // count, -(-(place + 1) * size // count)


@edge("upsample_bilinear2d", "upsample_nearest2d")
def resize(call: Call, x: Array) -> Any:  # noqa: ANN401
    """To a size, or by factors."""
    linear = call.op == "upsample_bilinear2d"
    mode = "align_corners" if call.attributes.get("align_corners") else "half_pixel"
    words: dict[str, Any] = {
        "mode": "linear" if linear else "nearest",
        "nearest_mode": "floor",
        "coordinate_transformation_mode": mode if linear else "asymmetric",
    }
    factors, sizes = call.attributes.get("scale_factors"), call.attributes.get("output_size")
    if factors:
        scales = np.asarray((1.0, 1.0, *factors), np.float32)
        return onnx(call, "Resize", x, None, scales, **words)
    target = np.asarray((*x.shape[:2], *(sizes or ())))
    return onnx(call, "Resize", x, None, None, target, **words)


@edge("pixel_shuffle", "pixel_unshuffle")
def pixel_shuffle(call: Call, x: Array) -> Array:
    """Blocks of channels become blocks of pixels, or the other way round."""
    if call.op == "pixel_shuffle":
        factor = int(call.attributes["upscale_factor"])
        return rearrangement.depth_to_space(x.shape, factor, "CRD").of(x)
    factor = int(call.attributes["downscale_factor"])
    return rearrangement.space_to_depth(x.shape, factor, "CRD").of(x)


@edge("cat")
def concatenate(call: Call, *parts: Array) -> Array:
    """One after another; empty vectors count for nothing."""
    kept = [part for part in parts if part.shape != (0,)] or list(parts)
    return np.concatenate(kept, axis=stated(call, "dim", 0))


@edge("stack")
def stack(call: Call, *parts: Array) -> Array:
    """Along a new axis."""
    return np.stack(parts, axis=stated(call, "dim", 0))


@edge("split_copy", "split_with_sizes_copy", "unbind_copy")
def split(call: Call, x: Array) -> tuple[Array, ...]:
    """Parts along an axis."""
    axis = stated(call, "dim", 0)
    if call.op == "unbind_copy":
        return tuple(np.take(x, place, axis=axis) for place in range(x.shape[axis]))
    sizes = call.attributes.get("split_sizes")
    if sizes is None:
        size = int(call.attributes["split_size"])
        return tuple(np.split(x, range(size, x.shape[axis], size), axis=axis))
    return tuple(np.split(x, np.cumsum(sizes)[:-1], axis=axis))


@edge("permute_copy", "transpose_copy", "t_copy")
def permute(call: Call, x: Array) -> Array:
    """The axes in another order."""
    if call.op == "permute_copy":
        return np.transpose(x, call.attributes["dims"])
    if call.op == "t_copy":
        return x.T
    return np.swapaxes(x, call.attributes["dim0"], call.attributes["dim1"])


@edge("view_copy", "et_view", "view")
def view(call: Call, x: Array) -> Array:
    """Another shape for the same elements."""
    return x.reshape([int(size) for size in call.attributes["size"]])


@edge("unsqueeze_copy")
def unsqueeze(call: Call, x: Array) -> Array:
    """With a new axis of size 1."""
    return np.expand_dims(x, call.attributes["dim"])


@edge("squeeze_copy")
def squeeze(call: Call, x: Array) -> Array:
    """Without those of the stated axes that have size 1."""
    given = call.attributes["dim"]
    axes = given if isinstance(given, tuple) else (given,)
    return np.squeeze(x, tuple(axis for axis in axes if x.ndim and x.shape[axis] == 1))


@edge("expand_copy")
def expand(call: Call, x: Array) -> Array:
    """Repeated along axes of size 1; -1 keeps a size."""
    sizes = call.attributes["size"]
    own = (1,) * (len(sizes) - x.ndim) + x.shape
    pairs = zip(sizes, own, strict=True)
    return np.broadcast_to(x, [have if size == -1 else size for size, have in pairs])


@edge("repeat")
def repeat(call: Call, x: Array) -> Array:
    """Laid side by side."""
    return np.tile(x, call.attributes["repeats"])


@edge("slice_copy", "narrow_copy")
def cut(call: Call, x: Array) -> Array:
    """A part of one axis."""
    return x[_part(call, x)]


def _part(call: Call, x: Array) -> tuple[slice, ...]:
    axis, start = int(stated(call, "dim", 0)) % x.ndim, stated(call, "start", 0)
    end = call.attributes.get("end")
    if "length" in call.attributes:
        start = start % x.shape[axis] if start < 0 else start
        end = start + call.attributes["length"]
    return (slice(None),) * axis + (slice(start, end, stated(call, "step", 1)),)


@edge("select_copy")
def select(call: Call, x: Array) -> Array:
    """One place of an axis."""
    return np.asarray(np.take(x, call.attributes["index"], axis=call.attributes["dim"]))


@edge("slice_scatter")
def write_part(call: Call, x: Array, part: Array) -> Array:
    """A part of one axis replaced."""
    y = np.array(x)
    y[_part(call, x)] = part
    return y


@edge("select_scatter")
def write_place(call: Call, x: Array, part: Array) -> Array:
    """One place of an axis replaced."""
    y = np.array(x)
    axis = int(call.attributes["dim"]) % x.ndim
    y[(slice(None),) * axis + (call.attributes["index"],)] = part
    return y


@edge("copy", "copy_")
def copy(call: Call, x: Array, new: Array) -> Array:
    """The second tensor in the shape of the first."""
    return np.broadcast_to(new, x.shape)


@edge("clone", "alias_copy", "detach_copy", "lift_fresh_copy", "_clone_dim_order", "output", "move")
def identity(call: Call, x: Array) -> Array:
    """The same numbers."""
    return x


@edge("_to_dim_order_copy", "_to_copy")
def cast(call: Call, x: Array) -> Array:
    """Another type: a narrower float rounds, a float becomes an integer toward zero."""
    source, target = call.input_dtypes[0], call.attributes["target"]
    if source == target:
        return x
    return np.asarray(onnx(call, "Cast", x, to=_ONNX_NUMBERS[target]))


_ONNX_NUMBERS = {
    "float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7,
    "bool": 9, "float16": 10, "float64": 11, "uint32": 12, "uint64": 13, "bfloat16": 16,
}  # fmt: skip


@edge("flip")
def flip(call: Call, x: Array) -> Array:
    """Reversed along axes."""
    return np.flip(x, call.attributes["dims"])


@edge("roll")
def roll(call: Call, x: Array) -> Array:
    """Moved around along axes."""
    shifts, axes = call.attributes["shifts"], call.attributes["dims"]
    return np.roll(x, shifts, axes) if axes else np.roll(x.reshape(-1), shifts).reshape(x.shape)


def _widths(call: Call, x: Array, name: str) -> list[tuple[int, int]]:
    given = call.attributes[name]
    pairs = [(given[place], given[place + 1]) for place in range(0, len(given), 2)]
    return [(0, 0)] * (x.ndim - len(pairs)) + pairs[::-1]


@edge("constant_pad_nd")
def pad(call: Call, x: Array) -> Any:  # noqa: ANN401
    """Grown by a number; shrunk where negative."""
    widths = _widths(call, x, "pad")
    pads = np.asarray([first for first, _ in widths] + [last for _, last in widths])
    return onnx(call, "Pad", x, pads, np.asarray(stated(call, "value", 0)), mode="constant")


@edge("reflection_pad1d", "reflection_pad2d", "reflection_pad3d", "replication_pad1d",
      "replication_pad2d", "replication_pad3d")  # fmt: skip
def pad_by_own(call: Call, x: Array) -> Array:
    """Grown by a reflection, or by the edge."""
    mode = "reflect" if call.op.startswith("reflection") else "edge"
    return np.pad(x, _widths(call, x, "padding"), mode=mode)  # type: ignore[call-overload,no-any-return]


@edge("embedding")
def look_up(call: Call, table: Array, indices: Array) -> Any:  # noqa: ANN401
    """Rows of a table."""
    return onnx(call, "Gather", table, indices, axis=0)


@edge("index_select")
def index_select(call: Call, x: Array, index: Array) -> Any:  # noqa: ANN401
    """Places of one axis."""
    return onnx(call, "Gather", x, index, axis=call.attributes["dim"])


@edge("index")
def index(call: Call, x: Array, *indices: Array | None) -> Array:
    """Elements by tensors of places; an axis without one stays whole."""
    return np.asarray(x[_places(indices)])


def _places(indices: tuple[Array | None, ...]) -> tuple[Any, ...]:
    return tuple(slice(None) if each is None else each for each in indices)


@edge("index_put", "index_put_")
def index_put(call: Call, x: Array, *rest: Array | None) -> Array:
    """Elements written, or added to, at tensors of places."""
    y, places, values = np.array(x), _places(rest[:-1]), np.asarray(rest[-1])
    if not call.attributes.get("accumulate"):
        y[places] = values
        return y
    np.add.at(y, places, values)
    return call.noise.rounded(y)


@edge("gather")
def gather(call: Call, x: Array, places: Array) -> Any:  # noqa: ANN401
    """One element for each place, along an axis."""
    return onnx(call, "GatherElements", x, places, axis=call.attributes["dim"])


@edge("scatter_add")
def scatter_add(call: Call, x: Array, places: Array, added: Array) -> Any:  # noqa: ANN401
    """Elements added at places along an axis."""
    axis = call.attributes["dim"]
    return onnx(call, "ScatterElements", x, places, added, axis=axis, reduction="add")


@edge("where")
def where(call: Call, condition: Array, a: Array, b: Array) -> Any:  # noqa: ANN401
    """One tensor where true, the other where false."""
    return np.where(condition.astype(bool), a, b)


@edge("masked_fill")
def masked_fill(call: Call, x: Array, mask: Array) -> Array:
    """A number where true."""
    return np.where(mask, np.asarray(call.attributes["value"], x.dtype), x)


@edge("tril")
def lower_triangle(call: Call, x: Array) -> Array:
    """Zero above a diagonal."""
    return np.tril(x, stated(call, "diagonal", 0))


def _made(call: Call) -> np.dtype[Any]:
    target = call.attributes["target"]
    return np.dtype(np.float64) if is_float(target) and not call.constant else numpy_dtype(target)


@edge("full", "full_like", "zeros", "ones", "scalar_tensor")
def filled(call: Call, *like: Array) -> Array:
    """One number everywhere."""
    given = call.attributes
    number = {"zeros": 0, "ones": 1}.get(call.op, given.get("fill_value", given.get("s")))
    shape = like[0].shape if like else tuple(int(size) for size in given.get("size") or ())
    return np.full(shape, number, _made(call))


@edge("arange")
def counted(call: Call) -> Array:
    """Numbers at equal distances."""
    given = call.attributes
    start, step = stated(call, "start", 0), stated(call, "step", 1)
    return np.arange(start, given["end"], step).astype(_made(call))


@edge("sym_size")
def size_of(call: Call, x: Array) -> Array:
    """The size of an axis."""
    return np.asarray(x.shape[call.attributes["dim"]], np.int64)


@edge("sym_numel")
def count_of(call: Call, x: Array) -> Array:
    """The number of elements."""
    return np.asarray(x.size, np.int64)
