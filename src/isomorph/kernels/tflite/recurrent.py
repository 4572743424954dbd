"""TFLite's plain recurrent cells and its SVDF filter; what they share with the LSTM cells.

Each kernel returns its outputs, then the new values of its state tensors.
"""

from __future__ import annotations

import numpy as np

from isomorph.kernels.matmul import product
from isomorph.kernels.registry import kernel
from isomorph.kernels.tflite.activations import TFLITE, activated
from isomorph.kernels.tflite.hybrid import is_hybrid, quantized_rows
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array

Optional = Array | None
"""A tensor that the operator may do without."""


@kernel("RNN", domain=TFLITE)
def rnn_step(call: Call, *inputs: Array) -> tuple[Array, ...]:
    """One step of a plain cell."""
    y, h = _rnn(call, inputs[0][None], *inputs[1:5])
    return y[0], h


@kernel("UNIDIRECTIONAL_SEQUENCE_RNN", domain=TFLITE)
def sequence_rnn(call: Call, *inputs: Array) -> tuple[Array, ...]:
    """A plain cell over time."""
    batch_first = not call.attributes.get("time_major", False)
    steps = np.moveaxis(inputs[0], 0, 1) if batch_first else inputs[0]
    y, h = _rnn(call, steps, *inputs[1:5])
    return (np.moveaxis(y, 0, 1) if batch_first else y), h


@kernel("BIDIRECTIONAL_SEQUENCE_RNN", domain=TFLITE)
def bidirectional_rnn(call: Call, *inputs: Optional) -> tuple[Array, ...]:
    """Plain cells forwards and backwards."""
    given = padded_inputs(inputs, 12)
    batch_first = not call.attributes.get("time_major", False)
    x, beside = needed(given[0]), given[9]
    steps = np.moveaxis(x, 0, 1) if batch_first else x
    if beside is not None and batch_first:
        beside = np.moveaxis(beside, 0, 1)
    ahead, back = ([needed(each) for each in given[k : k + 4]] for k in (1, 5))
    if beside is not None and given[10] is None:
        first, second = _rnn(call, steps, *ahead), _rnn(call, beside[::-1], *back)
    else:
        turned = None if beside is None else beside[::-1]
        first = _rnn(call, steps, *ahead, beside=beside, extra=given[10])
        second = _rnn(call, steps[::-1], *back, beside=turned, extra=given[11])
    sides = both_sides(call, first[0], second[0][::-1], batch_first=batch_first)
    return (*sides, first[1], second[1])


def _rnn(  # noqa: PLR0917
    call: Call,
    x: Array,
    w: Array,
    r: Array,
    bias: Array,
    h: Array,
    *,
    beside: Optional = None,
    extra: Optional = None,
) -> tuple[Array, Array]:
    noise, hybrid = call.noise, is_hybrid(call)
    word = str(call.attributes.get("fused_activation_function", "NONE"))
    outputs = []
    for t in range(x.shape[0]):
        pre = product(seen_by_cell(call, x[t], hybrid=hybrid), w.T, noise)
        pre = pre + product(seen_by_cell(call, h, hybrid=hybrid), r.T, noise)
        if beside is not None and extra is not None:
            pre = pre + product(seen_by_cell(call, beside[t], hybrid=hybrid), extra.T, noise)
        h = activated(word, noise.rounded(np.asarray(pre + bias)), noise)
        outputs.append(h)
    return np.stack(outputs) if outputs else np.zeros((0, *h.shape), h.dtype), h


@kernel("SVDF", domain=TFLITE)
def svdf(call: Call, *inputs: Optional) -> tuple[Array, ...]:
    """A dense layer with memory: features in time, filtered in time, added up by rank."""
    x, features, times = (needed(each) for each in inputs[:3])
    bias, state = inputs[3], needed(inputs[4])
    noise, rank = call.noise, int(call.attributes["rank"])
    filters, memory = times.shape
    past = state.reshape(x.shape[0], filters, memory)
    new = product(seen_by_cell(call, x, hybrid=is_hybrid(call)), features.T, noise)
    past = np.concatenate([past[:, :, 1:], new[:, :, None]], axis=2)
    parts = (past * times).reshape(x.shape[0], filters // rank, rank * memory)
    y = parts.sum(axis=2)
    y = noise.reduced(y, lambda: np.abs(parts).sum(axis=2), rank * memory)
    y = y if bias is None else noise.rounded(np.asarray(y + bias))
    word = str(call.attributes.get("fused_activation_function", "NONE"))
    return activated(word, y, noise), past.reshape(state.shape)


def seen_by_cell(call: Call, x: Array, *, hybrid: bool) -> Array:
    """A step as a cell with stored integers sees it."""
    return quantized_rows(call, x) if hybrid else x


def both_sides(call: Call, ahead: Array, back: Array, *, batch_first: bool) -> tuple[Array, ...]:
    """Two outputs, or one with the features of both directions."""
    if batch_first:
        ahead, back = np.moveaxis(ahead, 0, 1), np.moveaxis(back, 0, 1)
    if call.attributes.get("merge_outputs"):
        return (np.concatenate([ahead, back], axis=-1),)
    return ahead, back


def padded_inputs(inputs: tuple[Optional, ...], count: int) -> tuple[Optional, ...]:
    """Trailing optional tensors may be left out of the file."""
    return (*inputs, *(None,) * (count - len(inputs)))


def needed(value: Optional) -> Array:
    """The tensor itself, where the operator cannot do without it."""
    if value is None:
        raise ValueError("a tensor that this operator cannot do without is absent")
    return value
