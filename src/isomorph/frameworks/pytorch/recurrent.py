"""LSTM, GRU and the plain RNN of torch, step by step, with the rounding of every step.

The plain oracle runs torch's own float64 operators; this is the same recursion for the noise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isomorph.frameworks.pytorch.bound_arguments import array, tensor
from isomorph.oracle.noise import NoiseSource

Array = NDArray[Any]

Cell = Callable[..., tuple[Array, ...]]
"""From the projected input, the state and the weights of one step to the new state."""


def _sigmoid(x: Array, source: NoiseSource) -> Array:
    return source.rounded(1.0 / (1.0 + np.exp(-np.clip(x, -700.0, 700.0))), 1.0)


def _tanh(x: Array, source: NoiseSource) -> Array:
    return source.rounded(np.tanh(x), 1.0)


def _relu(x: Array, source: NoiseSource) -> Array:
    return np.maximum(x, 0.0)


def _added(a: Array, b: Array, source: NoiseSource) -> Array:
    return source.rounded(a + b)


def _projected(x: Array, weight: Array, bias: Array | None, source: NoiseSource) -> Array:
    def magnitude() -> Any:  # noqa: ANN401
        sizes = np.abs(x) @ np.abs(weight).T
        return sizes if bias is None else sizes + np.abs(bias)

    y = x @ weight.T
    return source.reduced(y if bias is None else y + bias, magnitude, x.shape[-1])


def _lstm_cell(
    given: Array, state: tuple[Array, ...], weight: Array, bias: Array, source: NoiseSource
) -> tuple[Array, ...]:
    hidden, cell = state
    gates = _added(given, _projected(hidden, weight, bias, source), source)
    enter, forget, change, leave = np.split(gates, 4, axis=-1)
    kept = source.rounded(_sigmoid(forget, source) * cell)
    fresh = source.rounded(_sigmoid(enter, source) * _tanh(change, source))
    cell = _added(kept, fresh, source)
    return source.rounded(_sigmoid(leave, source) * _tanh(cell, source)), cell


def _gru_cell(
    given: Array, state: tuple[Array, ...], weight: Array, bias: Array, source: NoiseSource
) -> tuple[Array, ...]:
    (hidden,) = state
    inner = _projected(hidden, weight, bias, source)
    given_reset, given_update, given_new = np.split(given, 3, axis=-1)
    inner_reset, inner_update, inner_new = np.split(inner, 3, axis=-1)
    reset = _sigmoid(_added(given_reset, inner_reset, source), source)
    update = _sigmoid(_added(given_update, inner_update, source), source)
    fresh = _tanh(_added(given_new, source.rounded(reset * inner_new), source), source)
    return (_added(fresh, source.rounded(update * (hidden - fresh)), source),)


def _plain_cell(activation: Callable[[Any, NoiseSource], Any]) -> Cell:
    def cell(
        given: Array, state: tuple[Array, ...], weight: Array, bias: Array, source: NoiseSource
    ) -> tuple[Array, ...]:
        (hidden,) = state
        return (
            activation(_added(given, _projected(hidden, weight, bias, source), source), source),
        )

    return cell


def _one_direction(
    cell: Cell, x: Array, state: tuple[Array, ...], weights: Sequence[Array], source: NoiseSource
) -> tuple[Array, tuple[Array, ...]]:
    inner, outer = weights[0], weights[1]
    inner_bias, outer_bias = (weights[2], weights[3]) if len(weights) > 2 else (None, None)
    given = _projected(x, inner, inner_bias, source)
    hidden = []
    for step in given:
        state = cell(step, state, outer, outer_bias, source)
        hidden.append(state[0])
    return np.stack(hidden), state


def _recurrent(cell: Cell, states: int) -> Callable[[Mapping[str, Any], NoiseSource], Any]:
    def run(given: Mapping[str, Any], source: NoiseSource) -> Any:  # noqa: ANN401
        # Packed sequences and projections have their own layouts; dropout really drops.
        if "input" not in given or (given.get("train") and given.get("dropout")):
            return None
        initial = given["hx"] if states > 1 else [given["hx"]]
        if len(initial) != states or given["params"] is None:
            return None
        weights = [array(each) for each in given["params"]]
        each = 4 if given["has_biases"] else 2
        directions = 2 if given["bidirectional"] else 1
        layers = int(given["num_layers"])
        if len(weights) != each * directions * layers:
            return None
        x = array(given["input"])
        unbatched = x.ndim == 2
        starts = [array(value) for value in initial]
        if unbatched:
            x, starts = x[:, None], [value[:, None] for value in starts]
        elif given["batch_first"]:
            x = np.swapaxes(x, 0, 1)
        finals: list[tuple[Array, ...]] = []
        for layer in range(layers):
            found = []
            for direction in range(directions):
                place = layer * directions + direction
                piece = weights[place * each : (place + 1) * each]
                turned = x[::-1] if direction else x
                begin = tuple(value[place] for value in starts)
                hidden, end = _one_direction(cell, turned, begin, piece, source)
                found.append(hidden[::-1] if direction else hidden)
                finals.append(end)
            x = np.concatenate(found, axis=-1)
        ends = [np.stack([end[kind] for end in finals]) for kind in range(states)]
        if unbatched:
            x, ends = x[:, 0], [value[:, 0] for value in ends]
        elif given["batch_first"]:
            x = np.swapaxes(x, 0, 1)
        return tuple(tensor(np.ascontiguousarray(value)) for value in (x, *ends))

    return run


RECURRENT = {
    "lstm": _recurrent(_lstm_cell, 2),
    "gru": _recurrent(_gru_cell, 1),
    "rnn_tanh": _recurrent(_plain_cell(_tanh), 1),
    "rnn_relu": _recurrent(_plain_cell(_relu), 1),
}
