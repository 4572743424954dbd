"""The fused recurrent cells of TensorFlow, made of the steps of ONNX's."""

from __future__ import annotations

import numpy as np

from isomorph.frameworks.tensorflow.oracle_ops import tf_kernel
from isomorph.kernels.matmul import product
from isomorph.kernels.recurrent import rounded_sigmoid, rounded_tanh
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array

_ORDER = {"BlockLSTM": "icfo", "BlockLSTMV2": "ifco", "LSTMBlockCell": "icfo"}
"""How the gates lie next to each other in the weights."""


@tf_kernel("LSTMBlockCell")
def lstm_cell(call: Call, x: Array, c: Array, h: Array, *weights: Array) -> tuple[Array, ...]:
    """One step: i, cs, f, o, ci, co, h."""
    return _step(call, x, c, h, *weights)


@tf_kernel("BlockLSTM", "BlockLSTMV2")
def lstm_block(
    call: Call, length: Array, x: Array, c: Array, h: Array, *weights: Array
) -> tuple[Array, ...]:
    """A sequence (time, batch, features): i, cs, f, o, ci, co, h at every step.

    Steps beyond ``length`` are zero.
    """
    steps = []
    for t in range(min(int(length), x.shape[0])):
        results = _step(call, x[t], c, h, *weights)
        c, h = results[1], results[6]
        steps.append(results)
    whole = []
    for place in range(7):
        y = np.zeros((x.shape[0], *h.shape), h.dtype)
        for t, results in enumerate(steps):
            y[t] = results[place]
        whole.append(y)
    return tuple(whole)


def _step(  # noqa: PLR0917
    call: Call,
    x: Array,
    c: Array,
    h: Array,
    w: Array,
    wci: Array,
    wcf: Array,
    wco: Array,
    bias: Array,
) -> tuple[Array, ...]:
    noise, attributes = call.noise, call.attributes
    n = h.shape[1]
    both = np.concatenate([x, h], axis=1)
    gates = noise.rounded(product(both, w, noise) + bias)
    order = _ORDER[call.op]
    at = {gate: gates[:, place * n : (place + 1) * n] for place, gate in enumerate(order)}
    forget = at["f"]
    if call.op != "BlockLSTMV2" and attributes["forget_bias"]:
        forget = noise.rounded(forget + attributes["forget_bias"])
    peephole = bool(attributes.get("use_peephole"))
    i = rounded_sigmoid(noise.rounded(at["i"] + c * wci) if peephole else at["i"], noise)
    f = rounded_sigmoid(noise.rounded(forget + c * wcf) if peephole else forget, noise)
    proposed = rounded_tanh(at["c"], noise)
    cell = proposed * i + c * f
    if noise.active:
        cell = noise.rounded(cell, np.abs(proposed * i) + np.abs(c * f))
    clip = attributes.get("cell_clip", 0.0)
    if clip > 0.0:
        cell = np.clip(cell, -clip, clip)
    o = rounded_sigmoid(noise.rounded(at["o"] + cell * wco) if peephole else at["o"], noise)
    shown = rounded_tanh(cell, noise)
    return i, cell, f, o, proposed, shown, noise.rounded(shown * o)


@tf_kernel("GRUBlockCell")
def gru_cell(  # noqa: PLR0917
    call: Call, x: Array, h: Array, w_ru: Array, w_c: Array, b_ru: Array, b_c: Array
) -> tuple[Array, ...]:
    """One step: r, u, c, h."""
    noise, n = call.noise, h.shape[1]
    gates = noise.rounded(product(np.concatenate([x, h], axis=1), w_ru, noise) + b_ru)
    activated = rounded_sigmoid(gates, noise)
    r, u = activated[:, :n], activated[:, n:]
    reset = np.concatenate([x, noise.rounded(h * r)], axis=1)
    c = rounded_tanh(noise.rounded(product(reset, w_c, noise) + b_c), noise)
    new = u * h + (1.0 - u) * c
    if noise.active:
        new = noise.rounded(new, np.abs(u * h) + np.abs((1.0 - u) * c))
    return r, u, c, new
