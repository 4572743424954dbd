"""Rarer ways to grow a graph: recurrences, scatters, computed shapes, heads of attention."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from .building import Builder, Refused
from .steps import Step, masked


def unsqueeze(b: Builder, x: str) -> str:
    axis = int(b.rng.integers(len(b.shape(x)) + 1))
    y = b.add("Unsqueeze", [x, b.integers(axis)])
    if b.rng.random() < 0.5:
        shape = list(b.shape(y))
        shape[axis] = 2
        return b.add("Expand", [y, b.integers(*shape)])
    return b.add("Squeeze", [b.add("Tanh", [y]), b.integers(axis)])


def gather_elements(b: Builder, x: str) -> str:
    shape = b.shape(x)
    places = b.constant(b.rng.integers(0, shape[-1], shape), np.int64)
    return b.add("GatherElements", [x, places], axis=-1)


def scatter(b: Builder, x: str) -> str:
    shape = b.shape(x)
    places = b.constant(b.rng.permutation(shape[-1])[:1].reshape((1,) * len(shape)), np.int64)
    return b.add("ScatterElements", [x, places, b.normal(*(1,) * len(shape))], axis=-1)


def triangle(b: Builder, x: str) -> str:
    if len(b.shape(x)) < 2:
        raise Refused
    return b.add("Trilu", [x], upper=int(b.rng.integers(2)))


def causal(b: Builder, x: str) -> str:
    """Scores behind a mask of truth values, as exporters write attention."""
    shape = b.shape(x)
    if len(shape) != 3 or shape[1] < 2:
        raise Refused
    scores = b.add("MatMul", [x, b.add("Transpose", [x], perm=[0, 2, 1])])
    mask = b.constant(np.tril(np.ones((shape[1], shape[1]))), np.bool_)
    low = b.constant(b.pick([-np.inf, -1e9, -3.4028235e38]))
    scores = b.add("Where", [mask, scores, low], wild=True)
    return b.add("MatMul", [b.add("Softmax", [scores], axis=-1), x])


def heads(b: Builder, x: str) -> str:
    shape = b.shape(x)
    if len(shape) != 3 or shape[2] % 2:
        raise Refused
    batch, length, size = shape
    split = b.integers(batch, length, 2, size // 2)
    parts = []
    for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]):
        y = b.add("MatMul", [x, b.normal(size, size, scale=size**-0.5)])
        y = b.add("Reshape", [b.add("Add", [y, b.normal(size)]), split])
        parts.append(b.add("Transpose", [y], perm=perm))
    scores = b.add("MatMul", parts[:2])
    scores = b.add("Div", [scores, b.constant((size // 2) ** 0.5)])
    if b.rng.random() < 0.5:
        scores = masked(b, scores)
    y = b.add("MatMul", [b.add("Softmax", [scores], axis=-1), parts[2]])
    y = b.add("Transpose", [y], perm=[0, 2, 1, 3])
    return b.add("Reshape", [y, b.integers(batch, length, size)])


def computed_shape(b: Builder, x: str) -> str:
    if len(b.shape(x)) < 2:
        raise Refused
    sizes = b.add("Shape", [x])
    first = b.add("Gather", [sizes, b.integers(0)], axis=0)
    return b.add("Reshape", [x, b.add("Concat", [first, b.integers(-1)], axis=0)])


def recurrent(b: Builder, x: str) -> str:
    shape = b.shape(x)
    if len(shape) != 3:
        raise Refused
    op, gates = b.pick([("LSTM", 4), ("GRU", 3), ("RNN", 1)])
    size, hidden = shape[2], int(b.rng.integers(2, 5))
    inputs = [
        x,
        b.normal(1, gates * hidden, size, scale=size**-0.5),
        b.normal(1, gates * hidden, hidden, scale=hidden**-0.5),
        b.normal(1, 2 * gates * hidden),
    ]
    y = b.add(op, inputs, hidden_size=hidden)
    return b.add("Squeeze", [y, b.integers(1)])


def group_norm(b: Builder, x: str) -> str:
    shape = b.shape(x)
    if len(shape) != 4 or shape[1] % 2:
        raise Refused
    parts = b.add("Reshape", [x, b.integers(shape[0], 2, -1)])
    normal = b.add("InstanceNormalization", [parts, b.constant([1, 1]), b.constant([0, 0])])
    normal = b.add("Reshape", [normal, b.integers(*shape)])
    scale, offset = b.positive(shape[1], 1, 1), b.normal(shape[1], 1, 1)
    return b.add("Add", [b.add("Mul", [normal, scale]), offset])


def remainder(b: Builder, x: str) -> str:
    return b.add("Mod", [x, b.constant(b.rng.uniform(0.3, 2))], fmod=1)


def finite(b: Builder, x: str) -> str:
    test = b.add("IsNaN", [x])
    return b.add("Where", [test, b.constant(0.0), x])


def counted(b: Builder, x: str) -> str:
    test = b.add("Greater", [x, b.normal(b.shape(x)[-1])])
    whole = b.add("Cast", [test], to=TensorProto.INT64)
    total = b.add("ReduceSum", [whole, b.integers(-1)], keepdims=1)
    return b.add("Add", [b.add("Cast", [total], to=TensorProto.FLOAT), b.add("Tanh", [x])])


def squeeze_excite(b: Builder, x: str) -> str:
    shape = b.shape(x)
    if len(shape) != 4:
        raise Refused
    channels = shape[1]
    y = b.add("GlobalAveragePool", [x])
    y = b.add("Conv", [y, b.normal(2, channels, 1, 1, scale=channels**-0.5), b.normal(2)])
    y = b.add("Conv", [b.add("Relu", [y]), b.normal(channels, 2, 1, 1), b.normal(channels)])
    return b.add("Mul", [x, b.add(b.pick(["Sigmoid", "HardSigmoid"]), [y])])


RARE_STEPS: dict[str, Step] = {
    step.__name__: step
    for step in (
        unsqueeze, gather_elements, scatter, triangle, causal, heads, computed_shape, recurrent,
        group_norm, remainder, finite, counted, squeeze_excite,
    )
}  # fmt: skip
