"""What ATen's operators that move data mean, for proofs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from isomorph.frameworks.pytorch.meanings_arguments import (
    only_tensors,
    optional_number,
    whole_number,
    whole_numbers,
)
from isomorph.kernels import rearrangement
from isomorph.proof.sizes import kept_places
from isomorph.proof.term import NoMeaningError, Term

if TYPE_CHECKING:
    from isomorph.proof.calls import Call, Meaning


def _view(name: str) -> Meaning:
    def meaning(call: Call) -> Sequence[Term]:
        only_tensors(call, 1, name)
        return (call.terms.reshape(call.x(), whole_numbers(call, name)),)

    return meaning


def _flatten(call: Call) -> Sequence[Term]:
    call.only(1)
    x, t = call.x(), call.terms
    if not x.rank:
        return (t.reshape(x, (1,)),)
    start, end = (t.axis(x, whole_number(call, name)) for name in ("start_dim", "end_dim"))
    middle = math.prod(x.shape[start : end + 1])
    return (t.reshape(x, (*x.shape[:start], middle, *x.shape[end + 1 :])),)


def _unflatten(call: Call) -> Sequence[Term]:
    only_tensors(call, 1, "sizes")
    x, t = call.x(), call.terms
    axis = t.axis(x, whole_number(call, "dim"))
    return (t.reshape(x, (*x.shape[:axis], *whole_numbers(call, "sizes"), *x.shape[axis + 1 :])),)


def _permute(call: Call) -> Sequence[Term]:
    call.only(1)
    return (call.terms.transpose(call.x(), whole_numbers(call, "dims")),)


def _transpose(call: Call) -> Sequence[Term]:
    call.only(1)
    x, t = call.x(), call.terms
    order = list(range(x.rank))
    a, b = (t.axis(x, whole_number(call, name)) for name in ("dim0", "dim1"))
    order[a], order[b] = order[b], order[a]
    return (t.transpose(x, order),)


def _t(call: Call) -> Sequence[Term]:
    call.only(1)
    x = call.x()
    return (call.terms.transpose(x, tuple(reversed(range(x.rank)))),)


def _unsqueeze(call: Call) -> Sequence[Term]:
    call.only(1)
    x = call.x()
    at = whole_number(call, "dim") % (x.rank + 1)
    return (call.terms.reshape(x, (*x.shape[:at], 1, *x.shape[at:])),)


def _squeeze(call: Call) -> Sequence[Term]:
    call.only(1)
    x, t = call.x(), call.terms
    axes = list(range(x.rank))
    if "dim" in call.node.attributes:
        axes = [t.axis(x, axis) for axis in whole_numbers(call, "dim")]
    gone = {axis for axis in axes if x.shape[axis] == 1}
    return (t.reshape(x, [n for at, n in enumerate(x.shape) if at not in gone]),)


def _slice(call: Call) -> Sequence[Term]:
    only_tensors(call, 1, "start", "end")
    x, t = call.x(), call.terms
    axis = t.axis(x, whole_number(call, "dim"))
    start, end = optional_number(call, "start"), optional_number(call, "end")
    step = whole_number(call, "step")
    return (t.slice(x, axis, *kept_places(x.shape[axis], start, end, step), step),)


def _narrow(call: Call) -> Sequence[Term]:
    call.only(1)
    x, t = call.x(), call.terms
    axis, start = t.axis(x, whole_number(call, "dim")), whole_number(call, "start")
    start = start + x.shape[axis] if start < 0 else start
    return (t.slice(x, axis, start, whole_number(call, "length")),)


def _select(call: Call) -> Sequence[Term]:
    call.only(1)
    x, t = call.x(), call.terms
    axis, at = t.axis(x, whole_number(call, "dim")), whole_number(call, "index")
    at = at + x.shape[axis] if at < 0 else at
    part = t.slice(x, axis, at, 1)
    return (t.reshape(part, (*x.shape[:axis], *x.shape[axis + 1 :])),)


def _parts(x: Term, call: Call, axis: int, sizes: Sequence[int]) -> list[Term]:
    if sum(sizes) != x.shape[axis]:
        raise NoMeaningError("parts that do not add up")
    starts = np.cumsum([0, *sizes[:-1]])
    return [call.terms.slice(x, axis, int(at), int(n)) for at, n in zip(starts, sizes, strict=True)]


def _split(call: Call) -> Sequence[Term]:
    call.only(1)
    x, t = call.x(), call.terms
    axis = t.axis(x, whole_number(call, "dim"))
    size = x.shape[axis]
    if "split_sizes" in call.node.attributes:
        return _parts(x, call, axis, whole_numbers(call, "split_sizes"))
    if "chunks" in call.node.attributes:
        each = math.ceil(size / whole_number(call, "chunks"))
    else:
        each = whole_number(call, "split_size")
    sizes = [min(each, size - at) for at in range(0, size, each)]
    return _parts(x, call, axis, sizes)


def _unbind(call: Call) -> Sequence[Term]:
    call.only(1)
    x, t = call.x(), call.terms
    axis = t.axis(x, whole_number(call, "dim"))
    shape = (*x.shape[:axis], *x.shape[axis + 1 :])
    return [t.reshape(t.slice(x, axis, at, 1), shape) for at in range(x.shape[axis])]


def _cat(call: Call) -> Sequence[Term]:
    parts = [each for each in call.all() if each.shape != (0,)]
    return (call.terms.concat(parts, whole_number(call, "dim")),)


def _stack(call: Call) -> Sequence[Term]:
    t, parts = call.terms, call.all()
    axis = whole_number(call, "dim") % (parts[0].rank + 1)
    shaped = [t.reshape(x, (*x.shape[:axis], 1, *x.shape[axis:])) for x in parts]
    return (t.concat(shaped, axis),)


def _expand(call: Call) -> Sequence[Term]:
    only_tensors(call, 1, "size")
    x, sizes = call.x(), list(whole_numbers(call, "size"))
    lead = len(sizes) - x.rank
    sizes = [x.shape[at - lead] if n == -1 else n for at, n in enumerate(sizes)]
    return (call.terms.expand(x, sizes),)


def _repeat(call: Call) -> Sequence[Term]:
    call.only(1)
    t, x = call.terms, call.x()
    times = whole_numbers(call, "repeats")
    x = t.reshape(x, (1,) * (len(times) - x.rank) + x.shape)
    for axis, count in enumerate(times):
        if count < 1:
            raise NoMeaningError("no repetition")
        x = t.concat([x] * count, axis)
    return (x,)


def _repeat_interleave(call: Call) -> Sequence[Term]:
    call.only(1)
    t, x = call.terms, call.x()
    if call.attr("dim") is None or call.attr("output_size") is not None:
        raise NoMeaningError("a repetition of all elements")
    axis = t.axis(x, whole_number(call, "dim"))
    places = np.repeat(np.arange(x.shape[axis]), whole_number(call, "repeats"))
    return (t.take(x, axis, places),)


def _flip(call: Call) -> Sequence[Term]:
    call.only(1)
    t, x = call.terms, call.x()
    for dim in whole_numbers(call, "dims"):
        axis = t.axis(x, dim)
        x = t.slice(x, axis, x.shape[axis] - 1, x.shape[axis], -1)
    return (x,)


def _roll(call: Call) -> Sequence[Term]:
    call.only(1)
    t, x = call.terms, call.x()
    shifts, dims = whole_numbers(call, "shifts"), whole_numbers(call, "dims")
    if len(shifts) != len(dims):
        raise NoMeaningError("a roll of all elements")
    for shift, dim in zip(shifts, dims, strict=True):
        axis = t.axis(x, dim)
        x = t.take(x, axis, np.roll(np.arange(x.shape[axis]), shift))
    return (x,)


def _embedding(call: Call) -> Sequence[Term]:
    call.only(2)
    table, indices = call.x(0), call.x(1)
    if indices.op == "constant":
        return (call.terms.take(table, 0, indices.value()),)
    return (call.terms.lookup(table, indices, 0),)


def _index_select(call: Call) -> Sequence[Term]:
    call.only(2)
    x, indices, axis = call.x(0), call.x(1), whole_number(call, "dim")
    if indices.op == "constant":
        return (call.terms.take(x, axis, indices.value()),)
    return (call.terms.lookup(x, indices, axis),)


def _constant_pad(call: Call) -> Sequence[Term]:
    call.only(1)
    t, x = call.terms, call.x()
    mode = call.attr("mode", "constant")
    if mode != "constant":
        raise NoMeaningError(f"a border of mode {mode}")
    pads = whole_numbers(call, "pad")
    before, after = [0] * x.rank, [0] * x.rank
    for at in range(len(pads) // 2):
        before[x.rank - 1 - at], after[x.rank - 1 - at] = pads[2 * at], pads[2 * at + 1]
    value = call.attr("value")
    fill = t.number(0.0 if value is None else float(value), x.dtype)
    return (t.pad(x, before, after, fill),)


def _pixel_shuffle(call: Call) -> Sequence[Term]:
    call.only(1)
    factor = whole_number(call, "upscale_factor")
    if call.x().rank != _IMAGE:
        raise NoMeaningError("a tensor without a batch")
    return (call.terms.rearranged(call.x(), rearrangement.depth_to_space, factor, "CRD"),)


_IMAGE = 4
"""The axes of a batch of images."""


MOVEMENT: dict[str, Meaning] = {
    "view.default": _view("size"),
    "reshape.default": _view("shape"),
    "_unsafe_view.default": _view("size"),
    "flatten.using_ints": _flatten,
    "unflatten.int": _unflatten,
    "permute.default": _permute,
    "transpose.int": _transpose,
    "t.default": _t,
    "unsqueeze.default": _unsqueeze,
    "squeeze.dim": _squeeze,
    "squeeze.dims": _squeeze,
    "squeeze.default": _squeeze,
    "slice.Tensor": _slice,
    "narrow.default": _narrow,
    "select.int": _select,
    "split.Tensor": _split,
    "split_with_sizes.default": _split,
    "chunk.default": _split,
    "unbind.int": _unbind,
    "cat.default": _cat,
    "stack.default": _stack,
    "expand.default": _expand,
    "repeat.default": _repeat,
    "repeat_interleave.self_int": _repeat_interleave,
    "flip.default": _flip,
    "roll.default": _roll,
    "embedding.default": _embedding,
    "index_select.default": _index_select,
    "pad.default": _constant_pad,
    "constant_pad_nd.default": _constant_pad,
    "pixel_shuffle.default": _pixel_shuffle,
}
"""Names without ``aten.``."""
