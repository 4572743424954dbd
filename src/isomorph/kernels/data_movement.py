"""Operators that move, repeat or drop elements and compute none."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from isomorph.kernels import rearrangement as blocks
from isomorph.kernels.kept_elements import kept_slice, part_sizes
from isomorph.kernels.registry import kernel
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array


def integers(value: Array | Sequence[int] | None) -> tuple[int, ...]:
    """A small integer tensor or attribute as plain numbers."""
    return () if value is None else tuple(int(item) for item in np.asarray(value).reshape(-1))


@kernel("Identity")
def identity(call: Call, x: object) -> object:
    """The same value; also of sequences and optionals."""
    return x


@kernel("Shape")
def shape(call: Call, x: Array) -> Array:
    """The sizes of the axes, from ``start`` to ``end``."""
    start, end = call.attributes.get("start", 0), call.attributes.get("end")
    return np.array(np.shape(x)[slice(start, end)], dtype=np.int64)


@kernel("Size")
def size(call: Call, x: Array) -> Array:
    """How many elements there are."""
    return np.array(np.size(x), dtype=np.int64)


@kernel("Reshape")
def reshape(call: Call, x: Array, shape: Array | None = None) -> Array:
    """Another shape for the same elements: 0 keeps an axis, −1 takes what is left."""
    wanted = list(integers(call.attributes.get("shape") if shape is None else shape))
    if not call.attributes.get("allowzero"):
        wanted = [x.shape[axis] if n == 0 else n for axis, n in enumerate(wanted)]
    return x.reshape(wanted)


@kernel("Flatten")
def flatten(call: Call, x: Array) -> Array:
    """Two axes: everything before ``axis``, and everything from it on."""
    axis = call.attributes.get("axis", 1)
    axis = axis + x.ndim if axis < 0 else axis
    return x.reshape(math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))


@kernel("Squeeze")
def squeeze(call: Call, x: Array, axes: Array | None = None) -> Array:
    """Without these axes of size 1, or without all of them."""
    given = call.attributes.get("axes") if axes is None else integers(axes)
    return np.squeeze(x, axis=None if given is None else tuple(given))


@kernel("Unsqueeze")
def unsqueeze(call: Call, x: Array, axes: Array | None = None) -> Array:
    """With new axes of size 1 at these places of the result."""
    given = call.attributes["axes"] if axes is None else integers(axes)
    return np.expand_dims(x, tuple(given))


@kernel("Transpose")
def transpose(call: Call, x: Array) -> Array:
    """The axes in another order; reversed when none is given."""
    return np.transpose(x, call.attributes.get("perm"))


@kernel("Expand")
def expand(call: Call, x: Array, shape: Array) -> Array:
    """Repeated along axes of size 1, as broadcasting with ``shape`` would."""
    target = np.broadcast_shapes(x.shape, integers(shape))
    return np.broadcast_to(x, target)


@kernel("Tile")
def tile(call: Call, x: Array, repeats: Array, axis: Array | None = None) -> Array:
    """Laid side by side, so often along each axis."""
    if axis is not None:
        counts = [1] * x.ndim
        counts[integers(axis)[0]] = integers(repeats)[0]
        return np.tile(x, counts)
    return np.tile(x, integers(repeats))


@kernel("Concat")
def concat(call: Call, *inputs: Array) -> Array:
    """One after another along an axis."""
    return np.concatenate(inputs, axis=call.attributes.get("axis", 1))


@kernel("Split")
def split(call: Call, x: Array, sizes: Array | None = None) -> tuple[Array, ...]:
    """Cut along an axis into given sizes, or into equal parts of which the last may be shorter."""
    axis = call.attributes.get("axis", 0)
    given = integers(call.attributes.get("split") if sizes is None else sizes)
    if not given:
        parts = call.attributes.get("num_outputs") or call.outputs
        given = part_sizes(x.shape[axis], parts)
    return tuple(np.split(x, np.cumsum(given)[:-1], axis=axis))


@kernel("Slice")
def cut(  # noqa: PLR0917
    call: Call,
    x: Array,
    starts: Array | None = None,
    ends: Array | None = None,
    axes: Array | None = None,
    steps: Array | None = None,
) -> Array:
    """A part of each axis, forwards or backwards."""
    attributes = call.attributes
    first = integers(attributes.get("starts") if starts is None else starts)
    last = integers(attributes.get("ends") if ends is None else ends)
    places = integers(attributes.get("axes") if axes is None else axes) or range(len(first))
    strides = integers(steps) or (1,) * len(first)
    cuts = [slice(None)] * x.ndim
    for begin, end, axis, step in zip(first, last, places, strides, strict=True):
        cuts[axis] = kept_slice(begin, end, step, x.shape[axis])
    return x[tuple(cuts)]


@kernel("Pad")
def pad(
    call: Call,
    x: Array,
    pads: Array | None = None,
    value: Array | None = None,
    axes: Array | None = None,
) -> Array:
    """Grown on each side by a constant, an edge, a reflection or a wrap; shrunk where negative."""
    attributes = call.attributes
    # Opset 1 spelled the attribute differently.
    given = integers(attributes.get("pads", attributes.get("paddings")) if pads is None else pads)
    places = [axis % x.ndim for axis in integers(axes)] or list(range(x.ndim))
    widths = [(0, 0)] * x.ndim
    for index, axis in enumerate(places):
        widths[axis] = (given[index], given[index + len(places)])
    kept = tuple(
        slice(max(-before, 0), size - max(-after, 0))
        for (before, after), size in zip(widths, x.shape, strict=True)
    )
    x = x[kept]
    grown = [(max(before, 0), max(after, 0)) for before, after in widths]
    mode = attributes.get("mode", "constant")
    if mode != "constant":
        return np.pad(x, grown, mode=mode)
    fill = attributes.get("value", 0.0) if value is None else np.asarray(value).reshape(-1)[0]
    return np.pad(x, grown, mode="constant", constant_values=x.dtype.type(fill))


@kernel("DepthToSpace")
def depth_to_space(call: Call, x: Array) -> Array:
    """Blocks of channels become blocks of pixels."""
    mode = call.attributes.get("mode", "DCR")
    return blocks.depth_to_space(x.shape, int(call.attributes["blocksize"]), mode).of(x)


@kernel("SpaceToDepth")
def space_to_depth(call: Call, x: Array) -> Array:
    """Blocks of pixels become blocks of channels."""
    mode = call.attributes.get("mode", "DCR")
    return blocks.space_to_depth(x.shape, int(call.attributes["blocksize"]), mode).of(x)


@kernel("ReverseSequence")
def reverse_sequence(call: Call, x: Array, lengths: Array) -> Array:
    """The first so many steps of each sequence in reverse, the rest as it was."""
    time, batch = call.attributes.get("time_axis", 0), call.attributes.get("batch_axis", 1)
    moved = np.moveaxis(x, (batch, time), (0, 1))
    y = moved.copy()
    for index, length in enumerate(integers(lengths)):
        y[index, :length] = moved[index, :length][::-1]
    return np.moveaxis(y, (0, 1), (batch, time))


@kernel("Trilu")
def triangle(call: Call, x: Array, diagonal: Array | None = None) -> Array:
    """The upper or lower triangle, zero elsewhere."""
    k = integers(diagonal)[0] if diagonal is not None else 0
    return np.triu(x, k) if call.attributes.get("upper", 1) else np.tril(x, k)
