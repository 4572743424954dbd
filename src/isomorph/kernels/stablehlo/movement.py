"""StableHLO's operations that move values and compute none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from isomorph.kernels.data_movement import integers
from isomorph.kernels.registry import kernel
from isomorph.kernels.stablehlo.elementwise import STABLEHLO
from isomorph.oracle.call import Call
from isomorph.oracle.dtypes import numpy_dtype
from isomorph.oracle.noise import Array


def laid_out(x: Array, shape: Sequence[int], axes: Sequence[int]) -> Array:
    """The axes of ``x`` at these places of a shape, repeated along the others."""
    placed = [1] * len(shape)
    for axis, place in enumerate(axes):
        placed[place] = x.shape[axis]
    return np.broadcast_to(x.reshape(placed), tuple(shape))


@kernel("broadcast_in_dim", "dynamic_broadcast_in_dim", domain=STABLEHLO)
def broadcast(call: Call, x: Array, shape: Array | None = None) -> Array:
    """To the declared shape, or to the one that is read."""
    sizes = call.attributes["output_shapes"][0] if shape is None else integers(shape)
    return laid_out(x, sizes, integers(call.attributes["broadcast_dimensions"]))


@kernel("reshape", "dynamic_reshape", domain=STABLEHLO)
def reshape(call: Call, x: Array, shape: Array | None = None) -> Array:
    """Into the declared shape, or the one that is read."""
    return x.reshape(call.attributes["output_shapes"][0] if shape is None else integers(shape))


@kernel("transpose", domain=STABLEHLO)
def transpose(call: Call, x: Array) -> Array:
    """The axes in another order."""
    return np.transpose(x, integers(call.attributes["permutation"]))


@kernel("concatenate", domain=STABLEHLO)
def concatenate(call: Call, *inputs: Array) -> Array:
    """One after another along an axis."""
    return np.concatenate(inputs, axis=int(call.attributes["dimension"]))


@kernel("slice", "real_dynamic_slice", domain=STABLEHLO)
def cut(call: Call, x: Array, *bounds: Array) -> Array:
    """A part of each axis."""
    names = ("start_indices", "limit_indices", "strides")
    stated = bounds or [call.attributes[name] for name in names]
    parts = zip(*(integers(each) for each in stated), strict=True)
    return x[tuple(slice(*part) for part in parts)]


@kernel("dynamic_slice", domain=STABLEHLO)
def cut_at(call: Call, x: Array, *starts: Array) -> Array:
    """So many elements from a place, which is moved to where all of them exist."""
    sizes = integers(call.attributes["slice_sizes"])
    return x[_window(x, starts, sizes)]


@kernel("dynamic_update_slice", domain=STABLEHLO)
def replaced_at(call: Call, x: Array, part: Array, *starts: Array) -> Array:
    """Some elements replaced from a place on."""
    y = x.astype(np.result_type(x, part))
    y[_window(x, starts, part.shape)] = part
    return y


def _window(x: Array, starts: Sequence[Array], sizes: Sequence[int]) -> tuple[slice, ...]:
    places = [int(np.asarray(start).reshape(())) for start in starts]
    first = [max(0, min(p, n - s)) for p, n, s in zip(places, x.shape, sizes, strict=True)]
    return tuple(slice(begin, begin + size) for begin, size in zip(first, sizes, strict=True))


@kernel("reverse", domain=STABLEHLO)
def reverse(call: Call, x: Array) -> Array:
    """The other way round along some axes."""
    return np.flip(x, integers(call.attributes["dimensions"]))


@kernel("pad", "dynamic_pad", domain=STABLEHLO)
def pad(call: Call, x: Array, value: Array, *widths: Array) -> Array:
    """With a value at the ends and between elements; negative widths cut off."""
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    stated = widths or [call.attributes[name] for name in names]
    low, high, between = (integers(each) for each in stated)
    return padded(x, np.asarray(value).reshape(()), low, high, between)


def padded(
    x: Array, value: Array, low: Sequence[int], high: Sequence[int], between: Sequence[int]
) -> Array:
    """As ``pad``, with the widths as numbers."""
    spread = [n + max(n - 1, 0) * gap for n, gap in zip(x.shape, between, strict=True)]
    whole = [max(b, 0) + n + max(e, 0) for b, n, e in zip(low, spread, high, strict=True)]
    y = np.full(whole, value, np.result_type(x, value))
    y[tuple(
        slice(max(b, 0), max(b, 0) + n, gap + 1)
        for b, n, gap in zip(low, spread, between, strict=True)
    )] = x  # fmt: skip
    return y[tuple(
        slice(max(-b, 0), n - max(-e, 0)) for b, n, e in zip(low, whole, high, strict=True)
    )]  # fmt: skip


@kernel("iota", "dynamic_iota", domain=STABLEHLO)
def count(call: Call, shape: Array | None = None) -> Array:
    """0, 1, 2 … along one axis."""
    sizes = call.attributes["output_shapes"][0] if shape is None else integers(shape)
    axis = int(call.attributes["iota_dimension"])
    kind = numpy_dtype(str(call.attributes["output_dtypes"][0]))
    return laid_out(np.arange(sizes[axis]).astype(kind), sizes, (axis,))


@kernel("get_dimension_size", domain=STABLEHLO)
def size(call: Call, x: Array) -> Array:
    """The size of one axis."""
    return np.asarray(x.shape[int(call.attributes["dimension"])], np.int32)


@kernel("real", "imag", domain=STABLEHLO)
def part_of(call: Call, x: Array) -> Array:
    """The real or imaginary part."""
    return np.real(x) if call.op == "real" else np.imag(x)


@kernel("complex", domain=STABLEHLO)
def joined(call: Call, real: Array, imaginary: Array) -> Array:
    """A complex number of two real ones."""
    return np.asarray(real + 1j * imaginary)
