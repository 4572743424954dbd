"""Kernels that quantize their activations at run time, where no graph shows it.

The oracle keeps the activations in float: the model's meaning is the float product with the
dequantized weights. The run-time quantizer is part of the execution, so its step is noise, which
is asked for by itself: it explains how far a run is from its oracle, not that two graphs differ.
"""

from __future__ import annotations

import numpy as np

from isomorph.kernels.quantized import centered_weights, ideal_rounding
from isomorph.kernels.registry import kernel, standard
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array

MICROSOFT = "com.microsoft"


def quantized_at_run_time(call: Call, x: Array) -> Array:
    """``x``; under noise within half a step of its own range in 8 bits, per tensor."""
    if not call.noise.run_time or x.size == 0:
        return x
    return np.asarray(x + ideal_rounding(x, "uint8", None, call)).astype(x.dtype)


@kernel("DynamicQuantizeMatMul", domain=MICROSOFT)
def dynamic_quantize_matmul(  # noqa: PLR0917
    call: Call,
    a: Array,
    b: Array,
    b_scale: Array,
    b_zero: Array | None = None,
    bias: Array | None = None,
) -> Array:
    """A·B + bias with B's scale and zero point per tensor or per column."""
    weights = centered_weights(b, b_zero, -1, call, scale=b_scale) * _wide(b_scale)
    x = quantized_at_run_time(call, a)
    y = standard(call, "MatMul", x, weights.astype(a.dtype), version=13)
    return np.asarray(y if bias is None else call.noise.rounded(y + bias))


@kernel("DynamicQuantizeLSTM", domain=MICROSOFT)
def dynamic_quantize_lstm(  # noqa: PLR0917
    call: Call,
    x: Array,
    w: Array,
    r: Array,
    bias: Array | None,
    lengths: Array | None,
    initial_h: Array | None,
    initial_c: Array | None,
    peepholes: Array | None,
    w_scale: Array,
    w_zero: Array,
    r_scale: Array,
    r_zero: Array,
) -> tuple[Array, Array, Array]:
    """LSTM on dequantized weights; the weights lie transposed against ONNX's LSTM."""
    directions = w.shape[0]
    inputs = _transposed(call, w, w_scale, w_zero, x.dtype.type)
    recurrent = _transposed(call, r, r_scale, r_zero, x.dtype.type)
    rest = (inputs, recurrent, bias, lengths, initial_h, initial_c, peepholes)
    if not call.noise.run_time:
        return _lstm(call, x, rest, direction=call.attributes.get("direction", "forward"))
    reverse = call.attributes.get("direction", "forward") == "reverse"
    seen = quantized_at_run_time(call, x)
    sides = [
        _stepwise(call, seen, _of_side(rest, side), side, reverse=reverse or side == 1)
        for side in range(directions)
    ]
    ys, hs, cs = zip(*sides, strict=True)
    return np.concatenate(ys, axis=1), np.concatenate(hs), np.concatenate(cs)


Rest = tuple[Array | None, ...]
"""Weights, recurrent weights, bias, lengths, first h, first c, peepholes."""


def _stepwise(
    call: Call, x: Array, rest: Rest, side: int, *, reverse: bool
) -> tuple[Array, Array, Array]:
    """One direction, step by step, with the state quantized before each."""
    w, r, bias, lengths, h, c, peepholes = rest
    steps, batch = x.shape[:2]
    hidden = r.shape[-1] if r is not None else 0
    h = np.zeros((1, batch, hidden), x.dtype) if h is None else h
    c = np.zeros((1, batch, hidden), x.dtype) if c is None else c
    ends = np.full(batch, steps) if lengths is None else lengths.astype(np.int64)
    y = np.zeros((steps, 1, batch, hidden), x.dtype)
    order = range(steps - 1, -1, -1) if reverse else range(steps)
    for time in order:
        seen = quantized_at_run_time(call, h)
        parts = (w, r, bias, None, seen, c, peepholes)
        now = _lstm(call, x[time : time + 1], parts, side=side)
        # Beyond its end a row keeps its state; a reversed row begins at its end.
        live = (time < ends)[None, :, None]
        h, c = np.where(live, now[1], h), np.where(live, now[2], c)
        y[time] = np.where(live, now[0][0], 0.0)
    return y, h, c


def _lstm(
    call: Call, x: Array, rest: Rest, *, direction: str = "forward", side: int = 0
) -> tuple[Array, Array, Array]:
    """ONNX's LSTM; of a bidirectional node's three and three activations, those of one side."""
    given = call.attributes
    count = 6 if direction == "bidirectional" else 3
    stated = {
        key: given[key][3 * side : 3 * side + count]
        for key in ("activations", "activation_alpha", "activation_beta")
        if given.get(key)
    }
    if given.get("clip") is not None:
        stated["clip"] = given["clip"]
    y, h, c = standard(
        call,
        "LSTM",
        x,
        *rest,
        version=14,
        outputs=3,
        direction=direction,
        hidden_size=int(given["hidden_size"]),
        input_forget=int(given.get("input_forget", 0)),
        layout=0,
        **stated,
    )
    return y, h, c


def _of_side(rest: Rest, side: int) -> Rest:
    """What belongs to one direction; the lengths belong to both."""
    return tuple(
        each if each is None or index == 3 else each[side : side + 1]
        for index, each in enumerate(rest)
    )


def _transposed(call: Call, w: Array, scale: Array, zero: Array, dtype: type) -> Array:
    sides = [
        centered_weights(w[side], zero[side], -1, call, scale=scale[side]) * _wide(scale[side])
        for side in range(w.shape[0])
    ]
    return np.ascontiguousarray(np.swapaxes(np.stack(sides), 1, 2)).astype(dtype)


def _wide(scale: Array) -> Array:
    wide = np.asarray(scale).astype(np.float64)
    return wide.reshape(()) if wide.size == 1 else wide
