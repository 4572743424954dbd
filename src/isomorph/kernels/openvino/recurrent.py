"""Recurrent layers of OpenVINO: the batch comes first, and gates have an order of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from isomorph.kernels.openvino.layers import OPENVINO, onnx
from isomorph.kernels.registry import kernel
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array

_LSTM_GATES = (1, 3, 0, 2)
"""ONNX's gates i, o, f, c among f, i, c, o."""
_DEFAULTS = {"LSTM": 3, "GRU": 2, "RNN": 1}


def _named(call: Call, op: str, directions: int) -> dict[str, Any]:
    given = call.attributes
    words = [each.strip().capitalize() for each in given["activations"].split(",")]
    found = {"activations": words[: _DEFAULTS[op]] * directions}
    for name in ("activation_alpha", "activation_beta"):
        if given.get(name):
            found[name] = list(given[name]) * directions
    return {
        **found,
        "direction": given["direction"],
        "clip": given["clip"] or None,
        "linear_before_reset": given.get("linear_before_reset", 0),
        "hidden_size": given["hidden_size"],
        "layout": 0,
        "input_forget": 0,
    }


def _gates(blocks: Array, order: tuple[int, ...]) -> Array:
    """Blocks of rows along the second axis in another order."""
    parts = np.split(blocks, len(order), axis=1)
    return np.concatenate([parts[place] for place in order], axis=1)


def _packed(call: Call, op: str, w: Array, r: Array, b: Array) -> tuple[Array, Array, Array]:
    """Weights and biases as ONNX packs them; the bias of the states is zero or a part of ``b``."""
    if op == "LSTM":
        w, r, b = (_gates(each, _LSTM_GATES) for each in (w, r, b))
    hidden = r.shape[2]
    if op == "GRU" and call.attributes.get("linear_before_reset"):
        rest = np.zeros_like(b[:, : 3 * hidden])
        rest[:, 2 * hidden :] = b[:, 3 * hidden :]
        return w, r, np.concatenate([b[:, : 3 * hidden], rest], axis=1)
    return w, r, np.concatenate([b, np.zeros_like(b)], axis=1)


def _run(call: Call, op: str, x: Array, states: list[Array], lengths: Any, *packed: Array) -> Any:  # noqa: ANN401
    w, r, b = _packed(call, op, *packed)
    ended = None if lengths is None else np.asarray(lengths)
    first = [state.swapaxes(0, 1) for state in states]
    found = onnx(call, op, x.swapaxes(0, 1), w, r, b, ended, *first, outputs=1 + len(states),
                 **_named(call, op, w.shape[0]))  # fmt: skip
    sequence, *last = found
    return (sequence.transpose(2, 1, 0, 3), *(state.swapaxes(0, 1) for state in last))


@kernel("LSTMSequence", domain=OPENVINO)
def lstm(  # noqa: PLR0917
    call: Call, x: Array, h: Array, c: Array, lengths: Array, w: Array, r: Array, b: Array
) -> Any:  # noqa: ANN401
    """All steps of one layer in one or both directions."""
    return _run(call, "LSTM", x, [h, c], lengths, w, r, b)


@kernel("GRUSequence", "RNNSequence", domain=OPENVINO)
def gru_or_rnn(  # noqa: PLR0917
    call: Call, x: Array, h: Array, lengths: Array, w: Array, r: Array, b: Array
) -> Any:  # noqa: ANN401
    """All steps of one layer in one or both directions."""
    return _run(call, call.op[:3], x, [h], lengths, w, r, b)


def _step(call: Call, op: str, x: Array, states: list[Array], *packed: Array) -> Any:  # noqa: ANN401
    whole = [each[None] for each in packed]
    found = _run(call, op, x[:, None], [state[:, None] for state in states], None, *whole)
    return tuple(state[:, 0] for state in found[1:])


@kernel("LSTMCell", domain=OPENVINO)
def lstm_cell(  # noqa: PLR0917
    call: Call, x: Array, h: Array, c: Array, w: Array, r: Array, b: Array
) -> Any:  # noqa: ANN401
    """One step."""
    return _step(call, "LSTM", x, [h, c], w, r, b)


@kernel("GRUCell", "RNNCell", domain=OPENVINO)
def gru_or_rnn_cell(  # noqa: PLR0917
    call: Call, x: Array, h: Array, w: Array, r: Array, b: Array
) -> Any:  # noqa: ANN401
    """One step."""
    return _step(call, call.op[:3], x, [h], w, r, b)
