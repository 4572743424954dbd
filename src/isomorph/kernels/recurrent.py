"""Recurrent cells run over a sequence in one direction, with noise at each step of each cell.

Plain arrays in and out, so that every oracle can use them. A sequence is (time, batch,
features); weights are stacked by gate as ONNX orders them: LSTM i, o, f, c; GRU z, r, h.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from isomorph.kernels.activations import sigmoid
from isomorph.kernels.matmul import product
from isomorph.oracle.noise import Array, NoiseSource

Activation = Callable[[Array, NoiseSource], Array]


def rounded_sigmoid(x: Array, noise: NoiseSource) -> Array:
    """The usual gate."""
    return noise.rounded(sigmoid(x), 1.0)


def rounded_tanh(x: Array, noise: NoiseSource) -> Array:
    """The usual squashing function."""
    return noise.rounded(np.tanh(x), 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """Of one direction: input and recurrent matrices (gates·hidden, …), their biases, peepholes."""

    w: Array
    r: Array
    wb: Array | None = None
    rb: Array | None = None
    peephole: Array | None = None

    @property
    def hidden(self) -> int:
        """The size of the state."""
        return int(self.r.shape[1])

    @property
    def bias(self) -> Array | None:
        """Both biases, where they can be added at once."""
        if self.wb is None or self.rb is None:
            return self.wb if self.rb is None else self.rb
        return np.asarray(self.wb + self.rb)


def rnn(
    x: Array,
    weights: Weights,
    h: Array,
    noise: NoiseSource,
    *,
    activation: Activation = rounded_tanh,
    clip: float | None = None,
    lengths: Array | None = None,
) -> tuple[Array, Array]:
    """A plain recurrent layer: every state, and the last one."""
    entering = _entering(x, weights, weights.bias, noise)
    states = np.zeros((x.shape[0], *h.shape), h.dtype)
    for t in range(x.shape[0]):
        pre = noise.rounded(entering[t] + product(h, weights.r.T, noise))
        new = activation(_clipped(pre, clip), noise)
        h = _kept(new, h, t, lengths)
        states[t] = _shown(h, t, lengths)
    return states, h


def gru(
    x: Array,
    weights: Weights,
    h: Array,
    noise: NoiseSource,
    *,
    gate: Activation = rounded_sigmoid,
    activation: Activation = rounded_tanh,
    linear_before_reset: bool = False,
    clip: float | None = None,
    lengths: Array | None = None,
) -> tuple[Array, Array]:
    """Gated recurrent units: every state, and the last one."""
    n = weights.hidden
    entering = _entering(x, weights, weights.wb, noise)
    rb = np.zeros(3 * n, h.dtype) if weights.rb is None else weights.rb
    gates, candidate = weights.r[: 2 * n].T, weights.r[2 * n :].T
    states = np.zeros((x.shape[0], *h.shape), h.dtype)
    for t in range(x.shape[0]):
        pre = noise.rounded(entering[t][:, : 2 * n] + product(h, gates, noise) + rb[: 2 * n])
        opened = gate(_clipped(pre, clip), noise)
        z, r = opened[:, :n], opened[:, n:]
        if linear_before_reset:
            recurrent = r * noise.rounded(product(h, candidate, noise) + rb[2 * n :])
        else:
            recurrent = product(noise.rounded(r * h), candidate, noise) + rb[2 * n :]
        pre = noise.rounded(entering[t][:, 2 * n :] + recurrent)
        proposed = activation(_clipped(pre, clip), noise)
        new = (1.0 - z) * proposed + z * h
        if noise.active:
            new = noise.rounded(new, np.abs((1.0 - z) * proposed) + np.abs(z * h))
        h = _kept(np.asarray(new, dtype=h.dtype), h, t, lengths)
        states[t] = _shown(h, t, lengths)
    return states, h


def lstm(
    x: Array,
    weights: Weights,
    h: Array,
    c: Array,
    noise: NoiseSource,
    *,
    gate: Activation = rounded_sigmoid,
    activation: Activation = rounded_tanh,
    output: Activation = rounded_tanh,
    input_forget: bool = False,
    clip: float | None = None,
    lengths: Array | None = None,
) -> tuple[Array, Array, Array]:
    """Long short-term memory: every state, the last one, and the last cell."""
    n = weights.hidden
    entering = _entering(x, weights, weights.bias, noise)
    peephole = np.zeros(3 * n, h.dtype) if weights.peephole is None else weights.peephole
    states = np.zeros((x.shape[0], *h.shape), h.dtype)
    for t in range(x.shape[0]):
        pre = noise.rounded(entering[t] + product(h, weights.r.T, noise))
        i = gate(_clipped(pre[:, :n] + peephole[:n] * c, clip), noise)
        if input_forget:
            f = noise.rounded(1.0 - i)
        else:
            f = gate(_clipped(pre[:, 2 * n : 3 * n] + peephole[2 * n :] * c, clip), noise)
        proposed = activation(_clipped(pre[:, 3 * n :], clip), noise)
        cell = f * c + i * proposed
        if noise.active:
            cell = noise.rounded(cell, np.abs(f * c) + np.abs(i * proposed))
        o = gate(_clipped(pre[:, n : 2 * n] + peephole[n : 2 * n] * cell, clip), noise)
        new = noise.rounded(o * output(cell, noise))
        c, h = _kept(cell, c, t, lengths), _kept(new, h, t, lengths)
        states[t] = _shown(h, t, lengths)
    return states, h, c


def reversed_in_time(x: Array, lengths: Array | None) -> Array:
    """Each sequence backwards within its own length; twice is the identity."""
    if lengths is None:
        return x[::-1]
    y = x.copy()
    for element, length in enumerate(np.asarray(lengths, np.int64)):
        y[:length, element] = x[:length, element][::-1]
    return y


def _entering(x: Array, weights: Weights, bias: Array | None, noise: NoiseSource) -> Array:
    """What all inputs contribute, in one product."""
    time, batch, features = x.shape
    flat = product(x.reshape(time * batch, features), weights.w.T, noise)
    if bias is not None:
        flat = noise.rounded(flat + bias)
    # No size is left to be inferred: a sequence may be empty.
    return flat.reshape(time, batch, weights.w.shape[0])


def _clipped(x: Array, clip: float | None) -> Array:
    return x if not clip else np.clip(x, -clip, clip)


def _kept(new: Array, old: Array, t: int, lengths: Array | None) -> Array:
    """A sequence that has ended keeps its state."""
    return new if lengths is None else np.where((t < lengths)[:, None], new, old)


def _shown(h: Array, t: int, lengths: Array | None) -> Array:
    return h if lengths is None else np.where((t < lengths)[:, None], h, np.zeros((), h.dtype))
