"""Ways to grow a graph by a few nodes behind a float tensor."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .building import Builder, Refused

Step = Callable[[Builder, str], str]

SMOOTH = [
    "Sigmoid",
    "Tanh",
    "Erf",
    "Softplus",
    "Softsign",
    "HardSwish",
    "Mish",
    "Gelu",
    "Sin",
    "Cos",
    "Atan",
    "Selu",
]
BENT = [
    "Relu",
    "LeakyRelu",
    "Elu",
    "Celu",
    "HardSigmoid",
    "ThresholdedRelu",
    "Abs",
    "Neg",
    "Identity",
    "Shrink",
]
ALPHA = {"LeakyRelu", "Elu", "Celu", "HardSigmoid", "ThresholdedRelu"}


def activation(b: Builder, x: str) -> str:
    op = b.pick(SMOOTH + BENT)
    stated = {}
    if op in ALPHA and b.rng.random() < 0.7:
        stated["alpha"] = float(np.float32(b.rng.uniform(0.05, 0.5)))
    if op == "HardSigmoid":
        stated["beta"] = 0.4
    if op == "Shrink":
        stated = {"lambd": 0.25, "bias": 0.125}
    if op == "Gelu":
        stated["approximate"] = b.pick(["none", "tanh"])
    return b.add(op, [x], **stated)


def guarded(b: Builder, x: str) -> str:
    op = b.pick(["Sqrt", "Log", "Reciprocal", "Exp"])
    if op == "Exp":
        return b.add("Exp", [b.add("Clip", [x, b.constant(-4.0), b.constant(4.0)])])
    return b.add(op, [b.add("Add", [b.add("Abs", [x]), b.constant(b.rng.uniform(0.1, 1))])])


def with_constant(b: Builder, x: str) -> str:
    op = b.pick(["Add", "Sub", "Mul", "Div", "Max", "Min", "Pow", "PRelu"])
    shape, kind = b.shape(x), b.kind(x)
    shape = b.pick([(), shape[-1:], shape])
    if op in ("Div", "Pow"):
        if op == "Pow":
            x = b.add("Abs", [x])
        return b.add(op, [x, b.positive(*shape, kind=kind)])
    inputs = [x, b.normal(*shape, kind=kind)]
    if op not in ("PRelu", "Sub") and b.rng.random() < 0.3:
        inputs.reverse()
    return b.add(op, inputs)


def of_two(b: Builder, x: str) -> str:
    others = [
        n for n, v in b.values.items()
        if v.shape == b.shape(x) and v.dtype == b.kind(x) and n not in b.constants
    ]  # fmt: skip
    op = b.pick(["Add", "Sub", "Mul", "Max", "Min", "Sum", "Mean"])
    return b.add(op, [x, b.pick(others)])


def matmul(b: Builder, x: str) -> str:
    size = b.shape(x)[-1]
    width = int(b.rng.integers(2, 9))
    y = b.add("MatMul", [x, b.normal(size, width, scale=size**-0.5, kind=b.kind(x))])
    return b.add("Add", [y, b.normal(width, kind=b.kind(x))]) if b.rng.random() < 0.6 else y


def gemm(b: Builder, x: str) -> str:
    if len(b.shape(x)) != 2:
        x = b.add("Flatten", [x], axis=1)
    size, width = b.shape(x)[1], int(b.rng.integers(2, 9))
    across = int(b.rng.integers(2))
    shape = (width, size) if across else (size, width)
    stated = {"transB": across}
    if b.rng.random() < 0.5:
        stated |= {"alpha": 0.75, "beta": 1.25}
    weights = b.normal(*shape, scale=size**-0.5, kind=b.kind(x))
    return b.add("Gemm", [x, weights, b.normal(width, kind=b.kind(x))], **stated)


def attention(b: Builder, x: str) -> str:
    if len(b.shape(x)) != 3:
        raise Refused
    size = b.shape(x)[2]
    query, key = (b.add("MatMul", [x, b.normal(size, size, scale=size**-0.5)]) for _ in range(2))
    scores = b.add("MatMul", [query, b.add("Transpose", [key], perm=[0, 2, 1])])
    scores = b.add("Mul", [scores, b.constant(size**-0.5)])
    if b.rng.random() < 0.7:
        scores = masked(b, scores)
    return b.add("MatMul", [b.add("Softmax", [scores], axis=-1), x])


def masked(b: Builder, x: str) -> str:
    """A mask that is added; the row keeps one place at least."""
    shape = b.shape(x)
    hidden = b.rng.random(shape[-1:]) < 0.4
    hidden[int(b.rng.integers(shape[-1]))] = False
    low = b.pick([-1e9, -3.4e38, -np.inf, -1e4])
    return b.add("Add", [x, b.constant(np.where(hidden, low, 0))], wild=True)


def _image(b: Builder, x: str) -> tuple[int, ...]:
    shape = b.shape(x)
    if len(shape) != 4 or min(shape[2:]) < 3:
        raise Refused
    return shape


def conv(b: Builder, x: str) -> str:
    channels = _image(b, x)[1]
    group = channels if b.rng.random() < 0.25 else 1
    width = group * int(b.rng.integers(1, 3)) if group > 1 else int(b.rng.integers(2, 5))
    kernel = int(b.pick([1, 3, 3, 2]))
    pads = b.pick([[0] * 4, [1] * 4, [1, 0, 0, 1]]) if kernel > 1 else [0] * 4
    scale = (channels // group * kernel**2) ** -0.5
    weights = b.normal(width, channels // group, kernel, kernel, scale=scale, kind=b.kind(x))
    inputs = [x, weights]
    if b.rng.random() < 0.7:
        inputs.append(b.normal(width, kind=b.kind(x)))
    y = b.add(
        "Conv", inputs, pads=pads, strides=b.pick([[1, 1], [2, 2], [1, 2]]), group=group,
        dilations=b.pick([[1, 1], [1, 1], [2, 2]]), kernel_shape=[kernel, kernel],
    )  # fmt: skip
    return batch_norm(b, y) if b.rng.random() < 0.4 else y


def conv_transpose(b: Builder, x: str) -> str:
    channels = _image(b, x)[1]
    weights = b.normal(channels, 2, 2, 2, scale=channels**-0.5)
    return b.add("ConvTranspose", [x, weights, b.normal(2)], strides=b.pick([[1, 1], [2, 2]]))


def pool(b: Builder, x: str) -> str:
    _image(b, x)
    op = b.pick(["MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"])
    if op.startswith("Global"):
        return b.add(op, [x])
    stated = {"count_include_pad": int(b.rng.integers(2))} if op == "AveragePool" else {}
    kernel = b.pick([[2, 2], [3, 3], [2, 3]])
    return b.add(
        op, [x], kernel_shape=kernel, strides=b.pick([[1, 1], [2, 2]]),
        pads=b.pick([[0] * 4, [1] * 4, [1, 1, 0, 0]]), **stated,
    )  # fmt: skip


def batch_norm(b: Builder, x: str) -> str:
    shape = b.shape(x)
    if len(shape) < 2:
        raise Refused
    size, kind = shape[1], b.kind(x)
    scale, variance = b.positive(size, kind=kind), b.positive(size, kind=kind)
    offset, mean = b.normal(size, kind=kind), b.normal(size, kind=kind)
    return b.add("BatchNormalization", [x, scale, offset, mean, variance], epsilon=1e-3)


def other_norm(b: Builder, x: str) -> str:
    channels = _image(b, x)[1]
    op = b.pick(["InstanceNormalization", "LRN", "LpNormalization"])
    if op == "LRN":
        return b.add(op, [x], size=3, alpha=0.01)
    if op == "LpNormalization":
        return b.add(op, [x], axis=1, p=2)
    return b.add(op, [x, b.positive(channels), b.normal(channels)], epsilon=1e-3)


def layer_norm(b: Builder, x: str) -> str:
    size, kind = b.shape(x)[-1], b.kind(x)
    if size < 3:
        raise Refused
    inputs = [x, b.positive(size, kind=kind), b.normal(size, kind=kind)]
    return b.add("LayerNormalization", inputs, axis=-1, epsilon=float(b.pick([1e-5, 1e-3])))


def rms_norm(b: Builder, x: str) -> str:
    square = b.add("Mul", [x, x])
    mean = b.add("ReduceMean", [square, b.integers(-1)], keepdims=1)
    root = b.add("Sqrt", [b.add("Add", [mean, b.constant(1e-3, b.kind(x))])])
    return b.add("Mul", [b.add("Div", [x, root]), b.positive(b.shape(x)[-1], kind=b.kind(x))])


def softmax(b: Builder, x: str) -> str:
    axis = int(b.rng.integers(-len(b.shape(x)), 0))
    return b.add(b.pick(["Softmax", "LogSoftmax"]), [x], axis=axis)


def reduce(b: Builder, x: str) -> str:
    op = [
        "ReduceMean",
        "ReduceSum",
        "ReduceMax",
        "ReduceMin",
        "ReduceL2",
        "ReduceL1",
        "ReduceLogSumExp",
    ]
    axis = int(b.rng.integers(len(b.shape(x))))
    return b.add(b.pick(op), [x, b.integers(axis)], keepdims=1)


def cumsum(b: Builder, x: str) -> str:
    axis = b.constant(int(b.rng.integers(len(b.shape(x)))), np.int64)
    return b.add("CumSum", [x, axis], exclusive=int(b.rng.integers(2)))


def einsum(b: Builder, x: str) -> str:
    size = b.shape(x)[-1]
    return b.add("Einsum", [x, b.normal(3, size, scale=size**-0.5)], equation="...i,ji->...j")


STEPS: dict[str, Step] = {
    step.__name__: step
    for step in (
        activation, guarded, with_constant, of_two, matmul, gemm, attention, masked, conv,
        conv_transpose, pool, batch_norm, other_norm, layer_norm, rms_norm, softmax, reduce, cumsum,
        einsum,
    )
}  # fmt: skip
