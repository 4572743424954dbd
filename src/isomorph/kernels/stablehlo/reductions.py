"""StableHLO's reductions by one known operation, over axes and over windows."""

from __future__ import annotations

import math

import numpy as np

from isomorph.kernels.data_movement import integers
from isomorph.kernels.pooling import summed
from isomorph.kernels.registry import kernel, standard
from isomorph.kernels.stablehlo.elementwise import STABLEHLO
from isomorph.kernels.stablehlo.movement import padded as spread_out
from isomorph.kernels.windows import Windows, padded, shifted
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array

_REDUCTIONS = {
    "add": "ReduceSum", "multiply": "ReduceProd", "maximum": "ReduceMax", "minimum": "ReduceMin",
    "and": "ReduceMin", "or": "ReduceMax",
}  # fmt: skip
_VERSION = 13
_BITS = {"and": np.bitwise_and, "or": np.bitwise_or}


@kernel("reduce", domain=STABLEHLO)
def reduce(call: Call, x: Array, start: Array) -> Array:
    """Joined along some axes by one operation, beginning with a number."""
    axes, by = integers(call.attributes["dimensions"]), str(call.attributes["reducer"])
    if x.dtype == bool and by in ("add", "multiply"):
        by = "or" if by == "add" else "and"
    if x.dtype.kind in "iu" and by in _BITS:
        return np.asarray(_BITS[by].reduce(x, axis=axes, initial=start.reshape(())))
    y = x
    if axes:
        y = standard(call, _REDUCTIONS[by], x, np.asarray(axes), version=_VERSION, keepdims=0)
    return joined(call, by, np.asarray(y), start)


def joined(call: Call, by: str, y: Array, start: Array) -> Array:
    """A reduction with the number that it began with, which mostly changes nothing."""
    first = np.asarray(start).reshape(())
    if by in ("and", "or"):
        return np.asarray(_BITS[by](y, first))
    if by in ("maximum", "minimum"):
        return np.asarray(np.maximum(y, first) if by == "maximum" else np.minimum(y, first))
    neutral = 0 if by == "add" else 1
    if first == neutral:
        return y
    both = y + first if by == "add" else y * first
    return call.noise.added(np.asarray(both), y, np.broadcast_to(first, y.shape))


@kernel("reduce_window", domain=STABLEHLO)
def reduce_window(call: Call, x: Array, start: Array) -> Array:
    """Joined over windows by one operation."""
    attributes, rank = call.attributes, x.ndim
    by = str(attributes["reducer"])
    size = integers(attributes["window_dimensions"])
    strides, dilations, base = (
        integers(attributes.get(name) or (1,) * rank)
        for name in ("window_strides", "window_dilations", "base_dilations")
    )
    first = np.asarray(start, x.dtype).reshape(())
    pads = attributes.get("padding") or ((0, 0),) * rank
    low, high = ([int(pair[end]) for pair in pads] for end in (0, 1))
    if any(step > 1 for step in base) or min((*low, *high), default=0) < 0:
        x = spread_out(x, first, low, high, [step - 1 for step in base])
        low = high = [0] * rank
    place = _windows(x.shape, size, strides, dilations, (low, high))
    if by == "add":
        if (axis := _running(x, place)) is not None:
            y = standard(
                call, "CumSum", x, np.asarray(axis), version=14, reverse=int(low[axis] == 0)
            )
        else:
            y = call.noise.reduced(
                summed(x, place), lambda: summed(np.abs(x), place), math.prod(size)
            )
        return joined(call, by, np.asarray(y), first)
    if by not in ("maximum", "minimum"):
        raise ValueError(f"windows that are joined by {by}")
    wide = padded(x, place, float(first)) if x.dtype.kind == "f" else _filled(x, place, first)
    function = np.maximum if by == "maximum" else np.minimum
    best = np.full(place.output, first)
    for offset in np.ndindex(*size):
        best = np.asarray(function(best, shifted(wide, place, offset)))
    return best


def _windows(
    shape: tuple[int, ...],
    size: tuple[int, ...],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    ends: tuple[list[int], list[int]],
) -> Windows:
    low, high = ends
    output = []
    for axis, count in enumerate(shape):
        reach = (size[axis] - 1) * dilations[axis] + 1
        room = count + low[axis] + high[axis] - reach
        output.append(room // strides[axis] + 1 if room >= 0 else 0)
    return Windows(
        kernel=size, strides=strides, dilations=dilations, begin=tuple(low), end=tuple(high),
        output=tuple(output),
    )  # fmt: skip


def _filled(x: Array, place: Windows, value: Array) -> Array:
    edges = list(zip(place.begin, place.end, strict=True))
    return np.pad(x, edges, constant_values=value.item())


def _running(x: Array, place: Windows) -> int | None:
    """The axis along which windows make a running sum; None where they make none."""
    long = [axis for axis, size in enumerate(place.kernel) if size > 1]
    if len(long) != 1 or place.output != x.shape or set(place.strides) != {1}:
        return None
    (axis,) = long
    whole = place.kernel[axis] == x.shape[axis]
    ends = {place.begin[axis], place.end[axis]} == {0, x.shape[axis] - 1}
    return axis if whole and ends else None
