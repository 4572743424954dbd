"""Operators of MIL, Core ML's language, that ONNX spells otherwise: made of ONNX's kernels."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from isomorph.kernels.registry import kernel, standard
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array

COREML = "coreml"
"""The domain of these kernels."""

_VERSION = 24
_LSTM = (0, 2, 1, 3)
"""MIL's gates are input, forget, output, cell; ONNX's input, output, forget, cell."""
_GRU = (2, 0, 1)
"""MIL's gates are reset, new, update; ONNX's update, reset, hidden."""


@kernel("Linear", domain=COREML)
def linear(call: Call, x: Array, w: Array, b: Array | None = None) -> Array:
    """X·Wᵀ + b on the last axis of x."""
    rows = x.reshape(-1, w.shape[1])
    y = standard(
        call, "Gemm", rows, np.ascontiguousarray(w.T), b, version=_VERSION, alpha=1.0, beta=1.0
    )
    return np.asarray(y).reshape(*x.shape[:-1], w.shape[0])


@kernel("MatMul", domain=COREML)
def matmul(call: Call, a: Array, b: Array) -> Array:
    """A product of matrices, either of them transposed."""
    left = a.swapaxes(-1, -2) if call.attributes.get("transA") else a
    right = b.swapaxes(-1, -2) if call.attributes.get("transB") else b
    return np.asarray(standard(call, "MatMul", left, right, version=_VERSION))


@kernel("Attention", domain=COREML)
def attention(call: Call, q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
    """Scaled dot products; every axis in front of the last two is a batch."""
    lead = q.shape[:-2]
    heads = [each.reshape(1, -1, *each.shape[-2:]) for each in (q, k, v)]
    if mask is not None:
        whole = np.broadcast_to(mask, (*lead, q.shape[-2], k.shape[-2]))
        mask = whole.reshape(1, -1, *whole.shape[-2:])
    found = standard(call, "Attention", *heads, mask, version=_VERSION)
    return np.asarray(found[0]).reshape(*lead, q.shape[-2], v.shape[-1])


@kernel("Log", "Rsqrt", "Reciprocal", domain=COREML)
def shifted(call: Call, x: Array) -> Array:
    """A function of x + epsilon."""
    moved = call.noise.rounded(x + x.dtype.type(call.attributes["epsilon"]))
    if call.op == "Log":
        return np.asarray(standard(call, "Log", moved, version=_VERSION))
    if call.op == "Rsqrt":
        moved = np.asarray(standard(call, "Sqrt", moved, version=_VERSION))
    return np.asarray(standard(call, "Reciprocal", moved, version=_VERSION))


@kernel("ThresholdedRelu", domain=COREML)
def thresholded_relu(call: Call, x: Array) -> Array:
    """X from the threshold on, zero below."""
    return np.where(x >= call.attributes["alpha"], x, np.zeros((), x.dtype))


@kernel("Affine", domain=COREML)
def affine(call: Call, x: Array) -> Array:
    """Alpha·x + beta."""
    kind = x.dtype.type
    product = call.noise.rounded(x * kind(call.attributes["alpha"]))
    return call.noise.rounded(product + kind(call.attributes["beta"]))


@kernel("ScaledTanh", domain=COREML)
def scaled_tanh(call: Call, x: Array) -> Array:
    """Alpha·tanh(beta·x)."""
    kind = x.dtype.type
    inner = call.noise.rounded(x * kind(call.attributes["beta"]))
    y = np.asarray(standard(call, "Tanh", inner, version=_VERSION))
    return call.noise.rounded(y * kind(call.attributes["alpha"]))


@kernel("PRelu", domain=COREML)
def prelu(call: Call, x: Array, slope: Array) -> Array:
    """One slope for each channel."""
    shape = (-1, *(1,) * (x.ndim - 2)) if slope.size > 1 else ()
    return np.asarray(standard(call, "PRelu", x, slope.reshape(shape), version=_VERSION))


@kernel("NotEqual", domain=COREML)
def not_equal(call: Call, a: Array, b: Array) -> Array:
    """Whether two numbers differ."""
    return np.not_equal(a, b)


@kernel("FloorDiv", domain=COREML)
def floor_div(call: Call, a: Array, b: Array) -> Array:
    """The quotient, rounded down."""
    if a.dtype.kind != "f":
        return np.asarray(a // b)
    quotient = np.asarray(standard(call, "Div", a, b, version=_VERSION))
    return np.asarray(np.floor(quotient))


@kernel("Stack", domain=COREML)
def stack(call: Call, *parts: Array) -> Array:
    """Tensors side by side on a new axis."""
    return np.stack(parts, axis=call.attributes["axis"])


@kernel("Slice", domain=COREML)
def cut(call: Call, x: Array, begin: Array, end: Array) -> Array:
    """A part of each axis; a masked end is that of the axis, a squeezed axis vanishes."""
    given = call.attributes
    squeezed = tuple(axis for axis in range(x.ndim) if given["squeeze_mask"][axis])
    return np.asarray(np.squeeze(x[masked_slices(given, x.shape, begin, end)], axis=squeezed))


def masked_slices(
    given: Mapping[str, Any], shape: tuple[int, ...], begin: Array, end: Array
) -> tuple[slice, ...]:
    """The slice of each axis; a masked end is that of the axis, a squeezed axis has one place."""
    cuts = []
    for axis, size in enumerate(shape):
        first, last = int(begin.reshape(-1)[axis]), int(end.reshape(-1)[axis])
        if given["squeeze_mask"][axis]:
            cuts.append(slice(first % size, first % size + 1, 1) if size else slice(0, 0))
            continue
        start = None if given["begin_mask"][axis] else first
        stop = None if given["end_mask"][axis] else last
        cuts.append(slice(start, stop, given["strides"][axis]))
    return tuple(cuts)


@kernel("SliceBySize", domain=COREML)
def cut_by_size(call: Call, x: Array, begin: Array, size: Array) -> Array:
    """So many elements of each axis; all that remain for a size of -1."""
    pairs = zip(begin.reshape(-1).tolist(), size.reshape(-1).tolist(), x.shape, strict=True)
    cuts = []
    for first, count, whole in pairs:
        start = first % whole if whole else 0
        cuts.append(slice(start, whole if count < 0 else start + count))
    return np.asarray(x[tuple(cuts)])


@kernel("Crop", domain=COREML)
def crop(call: Call, x: Array) -> Array:
    """The last two axes without so many elements at their ends."""
    (top, bottom), (left, right) = call.attributes["height"], call.attributes["width"]
    return x[..., top : x.shape[-2] - bottom, left : x.shape[-1] - right]


@kernel("Scatter", domain=COREML)
def scatter(call: Call, x: Array, indices: Array, updates: Array) -> Array:
    """Slices of one axis replaced by others, or combined with them."""
    axis = call.attributes["axis"] % x.ndim
    shape = [-1 if each == axis else 1 for each in range(x.ndim)]
    places = np.broadcast_to(np.asarray(indices).reshape(shape), updates.shape)
    return np.asarray(
        standard(
            call, "ScatterElements", x, places, updates, version=_VERSION, axis=axis,
            reduction=call.attributes["reduction"],
        )
    )  # fmt: skip


@kernel("ArgSort", domain=COREML)
def arg_sort(call: Call, x: Array) -> Array:
    """The places of all numbers of an axis in order."""
    axis = call.attributes["axis"] % x.ndim
    found = standard(
        call, "TopK", x, version=_VERSION, outputs=2, k=x.shape[axis], axis=axis,
        largest=call.attributes["largest"], sorted=1,
    )  # fmt: skip
    return np.asarray(found[1])


@kernel("CumSum", domain=COREML)
def cumulate(call: Call, x: Array) -> Array:
    """Sums up to each place of an axis."""
    given = call.attributes
    return np.asarray(
        standard(
            call, "CumSum", x, np.asarray(given["axis"]), version=_VERSION,
            exclusive=given["exclusive"], reverse=given["reverse"],
        )
    )  # fmt: skip


@kernel("Fill", domain=COREML)
def fill(call: Call, shape: Array) -> Array:
    """One number everywhere."""
    return np.full(tuple(shape.reshape(-1).tolist()), call.attributes["value"]).astype(
        call.attributes["to"]
    )


@kernel("Band", domain=COREML)
def band(call: Call, x: Array) -> Array:
    """The diagonals around the main one, zero elsewhere."""
    lower, upper = call.attributes["lower"], call.attributes["upper"]
    y = x if lower < 0 else np.triu(x, -lower)
    return y if upper < 0 else np.tril(y, upper)


@kernel("Reverse", domain=COREML)
def reverse(call: Call, x: Array) -> Array:
    """Axes backwards."""
    return np.flip(x, call.attributes["axes"])


@kernel("BatchNormalization", "InstanceNormalization", domain=COREML)
def normalization(call: Call, x: Array, *others: Array | None) -> Array:
    """By given or own statistics; an absent factor is one, an absent summand zero."""
    blank = (np.ones(x.shape[1], x.dtype), np.zeros(x.shape[1], x.dtype))
    gamma, beta = (*others, None, None)[:2]
    scale, shift = blank[0] if gamma is None else gamma, blank[1] if beta is None else beta
    return np.asarray(
        standard(
            call, call.op, x, scale, shift, *others[2:], version=15,
            epsilon=call.attributes["epsilon"],
        )
    )  # fmt: skip


@kernel("LayerNormalization", domain=COREML)
def layer_normalization(
    call: Call, x: Array, gamma: Array | None = None, beta: Array | None = None
) -> Array:
    """The trailing axes by their own statistics."""
    axis = call.attributes["axis"]
    scale = np.ones(x.shape[axis:], x.dtype) if gamma is None else gamma
    return np.asarray(
        standard(
            call, "LayerNormalization", x, scale, beta, version=17, axis=axis,
            epsilon=call.attributes["epsilon"],
        )
    )  # fmt: skip


@kernel("ConvTranspose", domain=COREML)
def conv_transpose(call: Call, x: Array, w: Array, b: Array | None = None) -> Array:
    """A transposed convolution; a stated size of the output adds to its end."""
    given, rank = call.attributes, x.ndim - 2
    extra = [0] * rank
    if given["size"] is not None:
        for axis in range(rank):
            reach = (w.shape[2 + axis] - 1) * given["dilations"][axis] + 1
            made = given["strides"][axis] * (x.shape[2 + axis] - 1) + reach
            made -= given["pads"][axis] + given["pads"][axis + rank]
            extra[axis] = given["size"][axis] - made
    attributes = {key: given[key] for key in ("strides", "pads", "dilations", "group")}
    return np.asarray(
        standard(
            call, "ConvTranspose", x, w, b, version=_VERSION, **attributes,
            output_padding=tuple(extra), auto_pad="NOTSET",
        )
    )  # fmt: skip


@kernel("Upsample", domain=COREML)
def upsample(call: Call, x: Array) -> Array:
    """The last two axes by factors or to sizes."""
    given = call.attributes
    attributes = {
        key: given[key] for key in ("mode", "coordinate_transformation_mode", "nearest_mode")
    }
    scales: Array | None = None
    ends = list(given.get("sizes", ()))
    if "scales" in given:
        # For lines the factors decide the sizes, and the sizes where the points lie.
        pairs = zip(x.shape[-2:], given["scales"], strict=True)
        ends = [math.floor(size * factor) for size, factor in pairs]
    if "scales" in given and given["mode"] != "linear":
        scales = np.asarray([1.0] * (x.ndim - 2) + list(given["scales"]), np.float32)
    sizes = np.asarray([*x.shape[:-2], *ends], np.int64) if scales is None else None
    return np.asarray(standard(call, "Resize", x, None, scales, sizes, version=13, **attributes))


@kernel("LSTM", "GRU", "RNN", domain=COREML)
def recurrent(
    call: Call,
    x: Array,
    h: Array,
    c: Array | None,
    *weights: Array | None,
) -> tuple[Array, ...]:
    """A layer in one or both directions, whose states lie side by side."""
    both = call.attributes["direction"] == "bidirectional"
    parts = [*weights, *(None,) * 6][:6]
    forward, backward = parts[:3], parts[3:]
    sets = [forward, backward] if both else [forward]
    w = np.stack([_gates(call.op, each[0]) for each in sets])
    r = np.stack([_gates(call.op, each[1]) for each in sets])
    b = np.stack([_biases(call.op, each[2], w) for each in sets])
    count, hidden = len(sets), r.shape[-1]
    states = [None if each is None else _sided(each, count, hidden) for each in (h, c)]
    functions = call.attributes["activations"] * count
    more = {"clip": call.attributes["clip"]} if "clip" in call.attributes else {}
    if call.op == "GRU":
        more["linear_before_reset"] = 1
    inputs = [states[0], states[1]] if call.op == "LSTM" else [states[0]]
    found = standard(
        call, call.op, x, w, r, b, None, *inputs, version=22, activations=functions, layout=0,
        outputs=3 if call.op == "LSTM" else 2, direction=call.attributes["direction"],
        hidden_size=hidden, **more,
    )  # fmt: skip
    y, *lasts = (np.asarray(each) for each in found)
    sequence = y.transpose(0, 2, 1, 3).reshape(y.shape[0], y.shape[2], count * hidden)
    ends = [each.transpose(1, 0, 2).reshape(each.shape[1], count * hidden) for each in lasts]
    if not call.attributes["output_sequence"]:
        sequence = ends[0][None]
    return (sequence, *ends)


def _gates(op: str, weight: Array | None) -> Array:
    assert weight is not None, "a recurrent layer has weights"
    order = {"LSTM": _LSTM, "GRU": _GRU, "RNN": (0,)}[op]
    parts = np.split(weight, len(order), axis=0)
    return np.concatenate([parts[each] for each in order], axis=0)


def _biases(op: str, bias: Array | None, w: Array) -> Array:
    rows = w.shape[1]
    own = np.zeros(rows, w.dtype) if bias is None else _gates(op, bias)
    return np.concatenate([own, np.zeros(rows, own.dtype)])


def _sided(state: Array, count: int, hidden: int) -> Array:
    """States of both directions one behind the other."""
    return np.ascontiguousarray(state.reshape(state.shape[0], count, hidden).swapaxes(0, 1))


@kernel("Palette", domain=COREML)
def palette(call: Call, indices: Array, lut: Array) -> Array:
    """The numbers of a palette; under disturbed quantizers anywhere in the cell of each."""
    table = np.asarray(lut)
    found = table[np.asarray(indices, np.int64)]
    if not call.noise.quantizers:
        return found
    low, high = cells(np.asarray(table, np.float64))
    draw = call.noise.random.uniform(0.0, 1.0, found.shape)
    places = np.asarray(indices, np.int64)
    return np.asarray(low[places] + (high - low)[places] * draw)


def cells(table: Array) -> tuple[Array, Array]:
    """The ends of the interval of numbers that each entry of a palette is the nearest to.

    The first and the last reach as far outwards as inwards. An entry that occurs twice has them
    once.
    """
    known, where = np.unique(table, return_inverse=True)
    if known.size == 1:
        return table, table
    middle = 0.5 * (known[1:] + known[:-1])
    low = np.concatenate(([2.0 * known[0] - middle[0]], middle))
    high = np.concatenate((middle, [2.0 * known[-1] - middle[-1]]))
    return low[where], high[where]
