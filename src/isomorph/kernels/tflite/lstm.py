"""TFLite's LSTM cells, with their peepholes, layer normalization and projection.

Each kernel returns its outputs, then the new values of its state tensors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from isomorph.kernels.matmul import product
from isomorph.kernels.normalization import standardized
from isomorph.kernels.recurrent import rounded_sigmoid
from isomorph.kernels.registry import kernel
from isomorph.kernels.tflite.activations import TFLITE, activated
from isomorph.kernels.tflite.hybrid import is_hybrid
from isomorph.kernels.tflite.quantized import kept
from isomorph.kernels.tflite.recurrent import (
    Optional,
    both_sides,
    needed,
    padded_inputs,
    seen_by_cell,
)
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array, NoiseSource

_LAYER_EPSILON = 1e-8
"""What TFLite adds to the variance of a gate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """The tensors of one direction, each tuple in the order input, forget, cell, output."""

    w: tuple[Optional, ...]
    r: tuple[Optional, ...]
    peephole: tuple[Optional, ...]
    bias: tuple[Optional, ...]
    projection: Optional = None
    projection_bias: Optional = None
    norm: tuple[Optional, ...] = (None, None, None, None)
    auxiliary: tuple[Optional, ...] = (None, None, None, None)


def _cell(inputs: tuple[Optional, ...], first: int) -> Cell:
    """The seventeen tensors from ``first`` on, in the order of the operator."""
    return Cell(
        w=inputs[first : first + 4],
        r=inputs[first + 4 : first + 8],
        peephole=(inputs[first + 8], inputs[first + 9], None, inputs[first + 10]),
        bias=inputs[first + 11 : first + 15],
        projection=inputs[first + 15],
        projection_bias=inputs[first + 16],
    )


@kernel("UNIDIRECTIONAL_SEQUENCE_LSTM", domain=TFLITE)
def sequence_lstm(call: Call, *inputs: Optional) -> tuple[Array, ...]:
    """Over time; the states come in as tensors 18 and 19."""
    given = padded_inputs(inputs, 24)
    cell = replace(_cell(given, 1), norm=given[20:24])
    x = needed(given[0])
    batch_first = not call.attributes.get("time_major", False)
    steps = np.moveaxis(x, 0, 1) if batch_first else x
    y, h, c = _lstm(call, steps, cell, needed(given[18]), needed(given[19]))
    return (np.moveaxis(y, 0, 1) if batch_first else y), h, c


@kernel("LSTM", domain=TFLITE)
def lstm_step(call: Call, *inputs: Optional) -> tuple[Array, ...]:
    """One step, either of the full cell or of the basic one with its joint weights."""
    if call.attributes.get("kernel_type", "FULL") == "BASIC":
        return _basic(call, *(needed(each) for each in inputs[:5]))
    given = padded_inputs(inputs, 24)
    cell = replace(_cell(given, 1), norm=given[20:24])
    x = needed(given[0])
    y, h, c = _lstm(call, x[None], cell, needed(given[18]), needed(given[19]))
    return y[0], h, c


@kernel("BIDIRECTIONAL_SEQUENCE_LSTM", domain=TFLITE)
def bidirectional_lstm(call: Call, *inputs: Optional) -> tuple[Array, ...]:
    """Forwards and backwards, side by side or joined along the features."""
    given = padded_inputs(inputs, 48)
    x = needed(given[0])
    batch_first = not call.attributes.get("time_major", True)
    steps = np.moveaxis(x, 0, 1) if batch_first else x
    beside = given[39]
    if beside is not None and batch_first:
        beside = np.moveaxis(beside, 0, 1)
    ahead = replace(_cell(given, 1), auxiliary=given[40:44])
    back = replace(_cell(given, 18), auxiliary=given[44:48])
    # An auxiliary input without weights of its own is what the backward cell reads.
    behind = steps
    if beside is not None and given[40] is None:
        behind, beside = beside, None
    first = _lstm(call, steps, ahead, needed(given[35]), needed(given[36]), beside)
    turned = None if beside is None else beside[::-1]
    second = _lstm(call, behind[::-1], back, needed(given[37]), needed(given[38]), turned)
    states = (*first[1:], *second[1:])
    return (*both_sides(call, first[0], second[0][::-1], batch_first=batch_first), *states)


def _lstm(  # noqa: PLR0917
    call: Call, x: Array, cell: Cell, h: Array, c: Array, beside: Optional = None
) -> tuple[Array, Array, Array]:
    """Every output, the last one, and the last cell."""
    noise = call.noise
    hybrid = is_hybrid(call, 0, 2)
    word = str(call.attributes.get("fused_activation_function", "TANH"))
    clip, limit = (float(call.attributes.get(key, 0.0)) for key in ("cell_clip", "proj_clip"))
    inner, outer, long = call.attributes.get("cell_grids", (None, None, None))
    outputs = []
    for t in range(x.shape[0]):
        seen, last = seen_by_cell(call, x[t], hybrid=hybrid), seen_by_cell(call, h, hybrid=hybrid)
        extra = None if beside is None else seen_by_cell(call, beside[t], hybrid=hybrid)
        pre = [_entering(cell, gate, seen, last, extra, noise) for gate in range(4)]
        f = _gate(cell, 1, pre, c, noise)
        g = activated(word, _finished(cell, 2, pre, None, noise), noise)
        i = noise.rounded(1.0 - f) if cell.w[0] is None else _gate(cell, 0, pre, c, noise)
        new = f * c + i * g
        c = noise.rounded(new, np.abs(f * c) + np.abs(i * g)) if noise.active else new
        c = kept(np.clip(c, -clip, clip) if clip > 0 else c, long, call)
        o = _gate(cell, 3, pre, c, noise)
        h = noise.rounded(np.asarray(o * activated(word, c, noise)))
        if cell.projection is not None:
            h = kept(h, inner, call)
            h = product(seen_by_cell(call, h, hybrid=hybrid), cell.projection.T, noise)
            h = h if cell.projection_bias is None else noise.rounded(h + cell.projection_bias)
            h = np.clip(h, -limit, limit) if limit > 0 else h
        h = kept(h, outer, call)
        outputs.append(h)
    return np.stack(outputs) if outputs else np.zeros((0, *h.shape), h.dtype), h, c


def _entering(  # noqa: PLR0917
    cell: Cell, gate: int, x: Array, h: Array, beside: Optional, noise: NoiseSource
) -> Optional:
    w, r, extra = cell.w[gate], cell.r[gate], cell.auxiliary[gate]
    if w is None or r is None:
        return None
    y = product(x, w.T, noise)
    if beside is not None and extra is not None:
        y = noise.rounded(y + product(beside, extra.T, noise))
    # A recurrent matrix may be stored as its diagonal alone.
    own = noise.rounded(h * r) if r.ndim == 1 else product(h, r.T, noise)
    return noise.rounded(np.asarray(y + own))


def _finished(cell: Cell, gate: int, pre: list[Optional], c: Optional, noise: NoiseSource) -> Array:
    """Peephole, layer normalization and bias on top of the products, in this order."""
    y, hole = needed(pre[gate]), cell.peephole[gate]
    if hole is not None and c is not None:
        y = noise.rounded(np.asarray(y + hole * c))
    scale = cell.norm[gate]
    if scale is not None:
        y, _, _ = standardized(y, (y.ndim - 1,), _LAYER_EPSILON, noise)
        y = noise.rounded(np.asarray(y * scale))
    bias = cell.bias[gate]
    return y if bias is None else noise.rounded(np.asarray(y + bias))


def _gate(cell: Cell, gate: int, pre: list[Optional], c: Array, noise: NoiseSource) -> Array:
    return rounded_sigmoid(_finished(cell, gate, pre, c, noise), noise)


def _basic(  # noqa: PLR0917
    call: Call, x: Array, h: Array, w: Array, b: Array, c: Array
) -> tuple[Array, ...]:
    """Gates input, new cell, forget, output from one product of input and last output."""
    noise = call.noise
    joined = np.concatenate([x, h], axis=-1)
    pre = noise.rounded(product(joined, w.T, noise) + b)
    i, g, f, o = np.split(pre, 4, axis=-1)
    i, f, o = (rounded_sigmoid(gate, noise) for gate in (i, f, o))
    g = noise.rounded(np.tanh(g), 1.0)
    cell = noise.rounded(np.asarray(i * g + f * c), np.abs(i * g) + np.abs(f * c))
    y = noise.rounded(np.asarray(o * noise.rounded(np.tanh(cell), 1.0)))
    return y, cell, joined, pre
