"""RNN, GRU and LSTM as ONNX declares them: directions, layouts, lengths, activations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from isomorph.kernels import recurrent
from isomorph.kernels.activations import sigmoid, softplus
from isomorph.kernels.recurrent import Activation, Weights
from isomorph.kernels.registry import kernel
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array, NoiseSource

# A plain function of x; or one of x and alpha; or of x, alpha and beta: with their defaults.
_PLAIN: dict[str, Callable[[Array], Array]] = {
    "relu": lambda x: np.maximum(x, 0.0),
    "tanh": np.tanh,
    "sigmoid": sigmoid,
    "softsign": lambda x: x / (1.0 + np.abs(x)),
    "softplus": softplus,
}
_WITH_ALPHA: dict[str, tuple[float, Callable[[Array, float], Array]]] = {
    "leakyrelu": (0.01, lambda x, a: np.where(x < 0, a * x, x)),
    "thresholdedrelu": (1.0, lambda x, a: np.where(x > a, x, 0.0)),
    "elu": (1.0, lambda x, a: np.where(x > 0, x, a * np.expm1(np.minimum(x, 0.0)))),
}
_WITH_BOTH: dict[str, tuple[float, float, Callable[[Array, float, float], Array]]] = {
    "affine": (1.0, 0.0, lambda x, a, b: a * x + b),
    "scaledtanh": (1.0, 1.0, lambda x, a, b: a * np.tanh(b * x)),
    "hardsigmoid": (0.2, 0.5, lambda x, a, b: np.clip(a * x + b, 0.0, 1.0)),
}


def activations(
    attributes: Mapping[str, Any], defaults: Sequence[str], directions: int
) -> list[Activation]:
    """The functions of all directions, one after another, with their parameters."""
    names = list(attributes.get("activations") or list(defaults) * directions)
    alphas = list(attributes.get("activation_alpha") or ())
    betas = list(attributes.get("activation_beta") or ())
    made: list[Activation] = []
    for name in map(str.lower, names):
        function = _PLAIN.get(name)
        if name in _WITH_ALPHA:
            default, with_alpha = _WITH_ALPHA[name]
            function = partial(_second(with_alpha), alphas.pop(0) if alphas else default)
        elif name in _WITH_BOTH:
            first, second, with_both = _WITH_BOTH[name]
            a = alphas.pop(0) if alphas else first
            b = betas.pop(0) if betas else second
            function = partial(_third(with_both), a, b)
        if function is None:
            raise ValueError(f"unknown activation {name!r}")
        made.append(_rounded(function, exact=name in ("relu", "thresholdedrelu")))
    return made


def _second(function: Callable[[Array, float], Array]) -> Callable[[float, Array], Array]:
    return lambda a, x: function(x, a)


def _third(
    function: Callable[[Array, float, float], Array],
) -> Callable[[float, float, Array], Array]:
    return lambda a, b, x: function(x, a, b)


def _rounded(function: Callable[[Array], Array], *, exact: bool) -> Activation:
    def run(x: Array, noise: NoiseSource) -> Array:
        y = np.asarray(function(x), dtype=x.dtype)
        if exact or not noise.active:
            return y
        return noise.rounded(y, np.maximum(np.abs(y), 1.0))

    return run


@kernel("RNN", "GRU", "LSTM")
def recurrent_layer(  # noqa: PLR0917
    call: Call,
    x: Array,
    w: Array,
    r: Array,
    b: Array | None = None,
    lengths: Array | None = None,
    h0: Array | None = None,
    c0: Array | None = None,
    peephole: Array | None = None,
) -> tuple[Array, ...]:
    """One layer in one or both directions."""
    batch_first = bool(call.attributes.get("layout", 0))
    if batch_first:
        x = x.swapaxes(0, 1)
        h0 = None if h0 is None else h0.swapaxes(0, 1)
        c0 = None if c0 is None else c0.swapaxes(0, 1)
    directions, hidden = w.shape[0], r.shape[2]
    blank = np.zeros((directions, x.shape[1], hidden), x.dtype)
    starts = (blank if h0 is None else h0, blank if c0 is None else c0)
    backward = call.attributes.get("direction", "forward") == "reverse"
    states, finals = [], []
    for d in range(directions):
        weights = _weights(w[d], r[d], None if b is None else b[d], peephole, d)
        turned = backward or d == 1
        sequence = recurrent.reversed_in_time(x, lengths) if turned else x
        y, *last = _direction(call, sequence, weights, [s[d] for s in starts], lengths, d)
        states.append(recurrent.reversed_in_time(y, lengths) if turned else y)
        finals.append(last)
    results = [np.stack(states, axis=1), *(np.stack(part) for part in zip(*finals, strict=True))]
    if batch_first:
        results[0] = results[0].transpose(2, 0, 1, 3)
        results[1:] = [part.swapaxes(0, 1) for part in results[1:]]
    return tuple(results[: max(call.outputs, 1)])


def _weights(w: Array, r: Array, b: Array | None, peephole: Array | None, d: int) -> Weights:
    half = w.shape[0]
    return Weights(
        w=w,
        r=r,
        wb=None if b is None else b[:half],
        rb=None if b is None else b[half:],
        peephole=None if peephole is None else peephole[d],
    )


def _direction(  # noqa: PLR0917
    call: Call,
    x: Array,
    weights: Weights,
    starts: Sequence[Array],
    lengths: Array | None,
    d: int,
) -> tuple[Array, ...]:
    attributes = call.attributes
    clip = attributes.get("clip")
    count = 2 if attributes.get("direction") == "bidirectional" else 1
    ended = None if lengths is None else np.asarray(lengths, np.int64)
    if call.op == "RNN":
        (f,) = activations(attributes, ["Tanh"], count)[d : d + 1]
        return recurrent.rnn(
            x, weights, starts[0], call.noise, activation=f, clip=clip, lengths=ended
        )
    if call.op == "GRU":
        f, g = activations(attributes, ["Sigmoid", "Tanh"], count)[2 * d : 2 * d + 2]
        return recurrent.gru(
            x,
            weights,
            starts[0],
            call.noise,
            gate=f,
            activation=g,
            linear_before_reset=bool(attributes.get("linear_before_reset", 0)),
            clip=clip,
            lengths=ended,
        )
    f, g, h = activations(attributes, ["Sigmoid", "Tanh", "Tanh"], count)[3 * d : 3 * d + 3]
    return recurrent.lstm(
        x,
        weights,
        starts[0],
        starts[1],
        call.noise,
        gate=f,
        activation=g,
        output=h,
        input_forget=bool(attributes.get("input_forget", 0)),
        clip=clip,
        lengths=ended,
    )
