"""What ONNX's operators that move data mean, for proofs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from isomorph.kernels import rearrangement
from isomorph.kernels.kept_elements import kept_slice, part_sizes
from isomorph.proof import spelled_movement as move
from isomorph.proof.sizes import any_size, broadcast_shapes, kept_places, same_size
from isomorph.proof.spelled_resize import linear_along, repeated_along
from isomorph.proof.term import NoMeaningError, Term

if TYPE_CHECKING:
    from isomorph.proof.calls import Call, Meaning


def _transpose(call: Call) -> Sequence[Term]:
    call.only(1)
    x = call.x()
    order = call.attr("perm") or tuple(reversed(range(x.rank)))
    return (call.terms.transpose(x, order),)


def _reshape(call: Call) -> Sequence[Term]:
    x = call.x()
    sizes = list(call.attr("shape") or ()) if call.count == 1 else list(call.ints(1))
    if not call.attr("allowzero", 0):
        sizes = [x.shape[at] if size == 0 else size for at, size in enumerate(sizes)]
    return (call.terms.reshape(x, sizes),)


def _flatten(call: Call) -> Sequence[Term]:
    call.only(1)
    x, axis = call.x(), int(call.attr("axis", 1))
    axis = axis + x.rank if axis < 0 else axis
    return (call.terms.reshape(x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))),)


def _stated_axes(call: Call) -> tuple[int, ...] | None:
    if call.count > 1 and call.optional(1) is not None:
        return call.ints(1)
    stated = call.attr("axes")
    return None if stated is None else tuple(int(axis) for axis in stated)


def _squeeze(call: Call) -> Sequence[Term]:
    return (move.squeezed(call.terms, call.x(), _stated_axes(call)),)


def _unsqueeze(call: Call) -> Sequence[Term]:
    x = call.x()
    axes = _stated_axes(call)
    if axes is None:
        raise NoMeaningError("no axes")
    rank = x.rank + len(axes)
    places = {axis % rank for axis in axes}
    if len(places) != len(axes):
        raise NoMeaningError("an axis twice")
    sizes = iter(x.shape)
    return (call.terms.reshape(x, [1 if at in places else next(sizes) for at in range(rank)]),)


def _slice(call: Call) -> Sequence[Term]:
    x, t = call.x(), call.terms
    if call.count == 1:
        starts, ends = call.needs("starts"), call.needs("ends")
        axes, steps = call.attr("axes"), None
    else:
        starts, ends = call.ints(1), call.ints(2)
        axes = call.ints(3) if call.optional(3) is not None else None
        steps = call.ints(4) if call.optional(4) is not None else None
    axes = tuple(range(len(starts))) if axes is None else axes
    steps = (1,) * len(starts) if steps is None else steps
    found = x
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        place = t.axis(x, int(axis))
        size = x.shape[place]
        if step < 0 and end >= _NO_END:
            raise NoMeaningError("a slice from the back with an end that runtimes read differently")
        if any_size((size, start, end)):
            first, count = kept_places(size, start, end, step)
        else:
            kept = range(size)[kept_slice(start, end, step, size)]
            first, count = (kept[0] if kept else 0), len(kept)
        found = t.slice(found, place, first, count, step)
    return (found,)


_NO_END = int(np.iinfo(np.int32).max)
"""From here on an end stands for that of the axis; from the back, some runtimes take the front."""


def _split(call: Call) -> Sequence[Term]:
    x, t = call.x(), call.terms
    axis = t.axis(x, int(call.attr("axis", 0)))
    count = len(call.node.outputs)
    sizes = call.attr("split")
    if call.attr("num_outputs", count) != count:
        raise NoMeaningError("another number of parts")
    if call.count > 1 and call.optional(1) is not None:
        sizes = call.ints(1)
    if not sizes:
        sizes = part_sizes(x.shape[axis], count)
    if len(sizes) != count or min(sizes) < 0:
        raise NoMeaningError("parts that do not add up")
    return move.parts(t, x, axis, sizes)


def _concat(call: Call) -> Sequence[Term]:
    return (call.terms.concat(call.all(), int(call.needs("axis"))),)


def _expand(call: Call) -> Sequence[Term]:
    call.only(2)
    x = call.x()
    return (call.terms.expand(x, broadcast_shapes(x.shape, call.ints(1))),)


def _gather(call: Call) -> Sequence[Term]:
    call.only(2)
    t, x, indices = call.terms, call.x(0), call.x(1)
    axis = int(call.attr("axis", 0))
    if indices.op == "constant":
        return (t.take(x, axis, indices.value()),)
    return (t.lookup(x, indices, axis),)


def _tile(call: Call) -> Sequence[Term]:
    call.only(2)
    return (move.repeated(call.terms, call.x(), call.ints(1)),)


def _pad(call: Call) -> Sequence[Term]:
    t, x = call.terms, call.x()
    mode = call.attr("mode", "constant")
    pads = call.attr("pads") if call.count == 1 else call.ints(1)
    axes = call.ints(3) if call.optional(3) is not None else tuple(range(x.rank))
    if pads is None or len(pads) != 2 * len(axes):
        raise NoMeaningError("a border without widths")
    before, after = [0] * x.rank, [0] * x.rank
    for at, axis in enumerate(axes):
        before[axis % x.rank], after[axis % x.rank] = int(pads[at]), int(pads[at + len(axes)])
    if mode == "constant":
        fill = call.optional(2) if call.count > 1 else t.number(call.attr("value", 0.0), x.dtype)
        if fill is None:
            fill = t.constant(np.zeros(()), x.dtype)
        return (t.pad(x, before, after, t.reshape(fill, ())),)
    if mode not in ("reflect", "edge") or min(*before, *after) < 0:
        raise NoMeaningError(f"a border of mode {mode}")
    if mode == "reflect":
        return (move.mirrored(t, x, np.stack([before, after], axis=1), mode),)
    for axis, (low, high) in enumerate(zip(before, after, strict=True)):
        if low or high:
            places = np.pad(np.arange(x.shape[axis]), (low, high), mode=mode)
            x = t.take(x, axis, places)
    return (x,)


def _depth_to_space(call: Call) -> Sequence[Term]:
    call.only(1)
    block, mode = int(call.needs("blocksize")), call.attr("mode", "DCR")
    if mode not in ("DCR", "CRD"):
        raise NoMeaningError(f"blocks of mode {mode}")
    return (call.terms.rearranged(call.x(), rearrangement.depth_to_space, block, mode),)


def _space_to_depth(call: Call) -> Sequence[Term]:
    call.only(1)
    call.refuse("mode", "DCR")
    block = int(call.needs("blocksize"))
    return (call.terms.rearranged(call.x(), rearrangement.space_to_depth, block),)


def _trilu(call: Call) -> Sequence[Term]:
    call.only(1, 2)
    t, x = call.terms, call.x()
    offset = call.ints(1)[0] if call.optional(1) is not None else 0
    triangle = np.triu if call.attr("upper", 1) else np.tril
    mask = triangle(np.ones(x.shape[-2:], bool), offset)
    zeros = t.filled(t.constant(np.zeros(()), x.dtype), x.shape)
    return (t.select(mask, x, zeros),)


_WHOLE_RATIOS = {
    ("asymmetric", "floor"),
    ("half_pixel", "round_prefer_floor"),
    ("half_pixel", "round_prefer_ceil"),
    ("pytorch_half_pixel", "round_prefer_floor"),
}
"""Options by which a whole ratio repeats each element equally often."""


def _resize(call: Call) -> Sequence[Term]:
    """Linear, or nearest neighbors at whole ratios; of stretched axes, without other options."""
    t, x = call.terms, call.x()
    if call.opset.get("", 1) < 11:
        raise NoMeaningError("a resize of an operator set without coordinates")
    call.only(3, 4)
    call.refuse("antialias", 0)
    call.refuse("keep_aspect_ratio_policy", "stretch")
    mode, nearest = call.attr("mode", "nearest"), call.attr("nearest_mode", "round_prefer_floor")
    centers = call.attr("coordinate_transformation_mode", "half_pixel")
    call.derived("cubic_coeff_a", "exclude_outside", "extrapolation_value")
    stated = call.attr("axes")
    axes = range(x.rank) if stated is None else [t.axis(x, int(axis)) for axis in stated]
    scales = call.optional(2)
    if call.optional(3) is not None:
        sizes = call.ints(3)
        ratios = [
            Fraction(1) if same_size(n, x.shape[axis]) else Fraction(n, x.shape[axis])
            for axis, n in zip(axes, sizes, strict=True)
        ]
    elif scales is not None:
        ratios = [Fraction(float(each)) for each in scales.value().reshape(-1)]
        sizes = tuple(
            x.shape[a] if ratio == 1 else int(x.shape[a] * ratio)
            for a, ratio in zip(axes, ratios, strict=True)
        )
    else:
        raise NoMeaningError("no sizes")
    for axis, size, ratio in zip(axes, sizes, ratios, strict=True):
        if ratio == 1 and same_size(size, x.shape[axis]):
            continue
        if mode == "linear" and x.is_float:
            x = linear_along(t, x, axis, size, scale=ratio, centers=centers)
        elif mode == "nearest" and (centers, nearest) in _WHOLE_RATIOS:
            x = repeated_along(t, x, axis, size, ratio)
        else:
            raise NoMeaningError(f"a resize by {mode}, {centers}, {nearest}")
    return (x,)


MOVEMENT: dict[str, Meaning] = {
    "Resize": _resize,
    "Transpose": _transpose,
    "Reshape": _reshape,
    "Flatten": _flatten,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Slice": _slice,
    "Split": _split,
    "Concat": _concat,
    "Expand": _expand,
    "Gather": _gather,
    "Tile": _tile,
    "Pad": _pad,
    "DepthToSpace": _depth_to_space,
    "SpaceToDepth": _space_to_depth,
    "Trilu": _trilu,
}
