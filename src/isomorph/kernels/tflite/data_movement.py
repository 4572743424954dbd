"""TFLite's operators that move, repeat or drop elements and compute none."""

from __future__ import annotations

import numpy as np

from isomorph.kernels import rearrangement as blocks
from isomorph.kernels.data_movement import integers
from isomorph.kernels.registry import kernel, standard
from isomorph.kernels.tflite.activations import TFLITE, fused
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array


@kernel("RESHAPE", domain=TFLITE)
def reshape(call: Call, x: Array, shape: Array | None = None) -> Array:
    """Another shape for the same elements: −1 takes what is left."""
    wanted = integers(call.attributes.get("new_shape", ())) if shape is None else integers(shape)
    # Old converters wrote the shape of a scalar as one zero.
    if wanted == (0,) and x.size:
        wanted = ()
    return x.reshape(wanted)


@kernel("SQUEEZE", domain=TFLITE)
def squeeze(call: Call, x: Array) -> Array:
    """Without these axes of size 1, or without all of them."""
    axes = integers(call.attributes.get("squeeze_dims", ()))
    return np.squeeze(x, axis=axes or None)


@kernel("EXPAND_DIMS", domain=TFLITE)
def expand_dims(call: Call, x: Array, axis: Array) -> Array:
    """With a new axis of size 1."""
    return np.expand_dims(x, integers(axis)[0])


@kernel("TRANSPOSE", domain=TFLITE)
def transpose(call: Call, x: Array, order: Array) -> Array:
    """The axes in another order."""
    return np.transpose(x, integers(order))


@kernel("CONCATENATION", domain=TFLITE)
def concatenate(call: Call, *inputs: Array) -> Array:
    """One after another along an axis."""
    return fused(call, np.concatenate(inputs, axis=int(call.attributes.get("axis", 0))))


@kernel("PACK", domain=TFLITE)
def pack(call: Call, *inputs: Array) -> Array:
    """Side by side along a new axis."""
    return np.stack(inputs, axis=int(call.attributes.get("axis", 0)))


@kernel("UNPACK", domain=TFLITE)
def unpack(call: Call, x: Array) -> tuple[Array, ...]:
    """The slices of one axis, each without it."""
    return tuple(np.moveaxis(x, int(call.attributes.get("axis", 0)), 0))


@kernel("SPLIT", domain=TFLITE)
def split(call: Call, axis: Array, x: Array) -> tuple[Array, ...]:
    """Equal parts along an axis."""
    return tuple(np.split(x, call.outputs, axis=integers(axis)[0]))


@kernel("SPLIT_V", domain=TFLITE)
def split_by_sizes(call: Call, x: Array, sizes: Array, axis: Array) -> tuple[Array, ...]:
    """Parts of given sizes, of which one may be −1 and takes what is left."""
    place, given = integers(axis)[0], list(integers(sizes))
    if -1 in given:
        given[given.index(-1)] = x.shape[place] - sum(size for size in given if size != -1)
    return tuple(np.split(x, np.cumsum(given)[:-1], axis=place))


@kernel("TILE", domain=TFLITE)
def tile(call: Call, x: Array, repeats: Array) -> Array:
    """Laid side by side, so often along each axis."""
    return np.tile(x, integers(repeats))


@kernel("BROADCAST_TO", domain=TFLITE)
def broadcast_to(call: Call, x: Array, shape: Array) -> Array:
    """Repeated along axes of size 1."""
    return np.broadcast_to(x, integers(shape))


@kernel("BROADCAST_ARGS", domain=TFLITE)
def broadcast_args(call: Call, a: Array, b: Array) -> Array:
    """The shape that two shapes broadcast to."""
    return np.array(np.broadcast_shapes(integers(a), integers(b)), dtype=a.dtype)


@kernel("PAD", "PADV2", domain=TFLITE)
def pad(call: Call, x: Array, widths: Array, value: Array | None = None) -> Array:
    """Grown on each side by zero or the given value."""
    fill = 0 if value is None else np.asarray(value).reshape(-1)[0]
    return np.pad(x, _pairs(widths), constant_values=x.dtype.type(fill))


@kernel("MIRROR_PAD", domain=TFLITE)
def mirror_pad(call: Call, x: Array, widths: Array) -> Array:
    """Grown by its own reflection, with or without the edge itself."""
    reflect = call.attributes.get("mode", "REFLECT") == "REFLECT"
    return np.pad(x, _pairs(widths), mode="reflect" if reflect else "symmetric")


@kernel("REVERSE_V2", domain=TFLITE)
def reverse(call: Call, x: Array, axes: Array) -> Array:
    """Backwards along the given axes."""
    return np.flip(x, integers(axes))


@kernel("REVERSE_SEQUENCE", domain=TFLITE)
def reverse_sequence(call: Call, x: Array, lengths: Array) -> Array:
    """The first so many steps of each sequence in reverse, the rest as it was."""
    time, batch = (int(call.attributes.get(key, 0)) for key in ("seq_dim", "batch_dim"))
    stated = {"time_axis": time, "batch_axis": batch}
    return np.asarray(standard(call, "ReverseSequence", x, lengths, version=10, **stated))


@kernel("SPACE_TO_DEPTH", "DEPTH_TO_SPACE", domain=TFLITE)
def space_and_depth(call: Call, x: Array) -> Array:
    """Blocks of pixels become blocks of channels, or the other way round."""
    size = int(call.attributes["block_size"])
    to_depth = call.op == "SPACE_TO_DEPTH"
    rule = blocks.last_space_to_depth if to_depth else blocks.last_depth_to_space
    return rule(x.shape, size).of(x)


@kernel("SPACE_TO_BATCH_ND", domain=TFLITE)
def space_to_batch(call: Call, x: Array, block: Array, widths: Array) -> Array:
    """Padded, then every block of pixels spread over the batch."""
    sizes = integers(block)
    rank = len(sizes)
    x = np.pad(x, [(0, 0), *_pairs(widths), *[(0, 0)] * (x.ndim - 1 - rank)])
    return blocks.space_to_batch(x.shape, sizes).of(x)


@kernel("BATCH_TO_SPACE_ND", domain=TFLITE)
def batch_to_space(call: Call, x: Array, block: Array, crops: Array) -> Array:
    """The way back, then cropped."""
    sizes = integers(block)
    y = blocks.batch_to_space(x.shape, sizes).of(x)
    cuts = [
        slice(before, size - after)
        for (before, after), size in zip(_pairs(crops), y.shape[1:], strict=False)
    ]
    return y[(slice(None), *cuts)]


def _pairs(widths: Array) -> list[tuple[int, int]]:
    return [(int(before), int(after)) for before, after in np.asarray(widths).reshape(-1, 2)]
