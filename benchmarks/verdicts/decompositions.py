"""Operators written as simpler ones: the same function, with other roundings."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .editing import Editor, stated
from .rewrites import F32, Rewrite


def layer_norm(e: Editor) -> bool:
    for node in e.of("LayerNormalization"):
        x, scale, *bias = node.input
        if not e.is_float32(x) or stated(node, "axis", -1) != -1 or len(node.output) > 1:
            continue
        axes = e.constant(np.array([-1], np.int64))
        less = e.node("Sub", [x, e.node("ReduceMean", [x, axes])])
        square = e.node("Mul", [less, less])
        variance = e.node("ReduceMean", [square, axes])
        widened = e.node("Add", [variance, e.constant(F32(stated(node, "epsilon", 1e-5)))])
        normal = e.node("Div", [less, e.node("Sqrt", [widened])])
        e.remove(node)
        if bias:
            e.node("Add", [e.node("Mul", [normal, scale]), bias[0]], node.output[0])
        else:
            e.node("Mul", [normal, scale], node.output[0])
        return True
    return False


def softmax(e: Editor) -> bool:
    for node in e.of("Softmax", "LogSoftmax"):
        x = node.input[0]
        if not e.is_float32(x):
            continue
        axes = e.constant(np.array([stated(node, "axis", -1)], np.int64))
        less = e.node("Sub", [x, e.node("ReduceMax", [x, axes])])
        powers = e.node("Exp", [less])
        total = e.node("ReduceSum", [powers, axes])
        e.remove(node)
        if node.op_type == "Softmax":
            e.node("Div", [powers, total], node.output[0])
        else:
            e.node("Sub", [less, e.node("Log", [total])], node.output[0])
        return True
    return False


def _single(*ops: str) -> Callable[[Callable[[Editor, object, str], None]], Rewrite]:
    """A rewrite of the float32 operators of one input."""

    def around(change: Callable[[Editor, object, str], None]) -> Rewrite:
        def rewrite(e: Editor) -> bool:
            for node in e.of(*ops):
                if e.is_float32(node.input[0]):
                    e.remove(node)
                    change(e, node, node.output[0])
                    return True
            return False

        rewrite.__name__ = change.__name__
        return rewrite

    return around


def number(e: Editor, value: float) -> str:
    return e.constant(F32(value))


@_single("Gelu")
def gelu(e, node, out):
    x = node.input[0]
    if stated(node, "approximate", b"none") == b"tanh":
        cube = e.node("Mul", [e.node("Mul", [x, x]), x])
        inner = e.node("Add", [x, e.node("Mul", [cube, number(e, 0.044715)])])
        bent = e.node("Tanh", [e.node("Mul", [inner, number(e, math.sqrt(2 / math.pi))])])
    else:
        bent = e.node("Erf", [e.node("Div", [x, number(e, math.sqrt(2))])])
    half = e.node("Mul", [x, number(e, 0.5)])
    e.node("Mul", [half, e.node("Add", [bent, number(e, 1)])], out)


@_single("HardSwish")
def hard_swish(e, node, out):
    x = node.input[0]
    if e.rng.random() < 0.5:
        e.node("Mul", [x, e.node("HardSigmoid", [x], alpha=1 / 6, beta=0.5)], out)
        return
    shifted = e.node("Add", [x, number(e, 3)])
    limited = e.node("Clip", [shifted, number(e, 0), number(e, 6)])
    e.node("Div", [e.node("Mul", [x, limited]), number(e, 6)], out)


@_single("Mish")
def mish(e, node, out):
    x = node.input[0]
    e.node("Mul", [x, e.node("Tanh", [e.node("Softplus", [x])])], out)


@_single("Sigmoid")
def sigmoid(e, node, out):
    power = e.node("Exp", [e.node("Neg", [node.input[0]])])
    e.node("Div", [number(e, 1), e.node("Add", [power, number(e, 1)])], out)


@_single("Softsign")
def softsign(e, node, out):
    x = node.input[0]
    e.node("Div", [x, e.node("Add", [e.node("Abs", [x]), number(e, 1)])], out)


@_single("Relu")
def relu(e, node, out):
    x = node.input[0]
    if e.rng.random() < 0.5:
        e.node("Max", [x, number(e, 0)], out)
    else:
        e.node("Clip", [x, number(e, 0)], out)


@_single("LeakyRelu")
def leaky_relu(e, node, out):
    x, alpha = node.input[0], stated(node, "alpha", 0.01)
    if e.rng.random() < 0.5:
        e.node("PRelu", [x, number(e, alpha)], out)
        return
    test = e.node("Less", [x, number(e, 0)])
    e.node("Where", [test, e.node("Mul", [x, number(e, alpha)]), x], out)


@_single("Neg")
def negative(e, node, out):
    e.node("Mul", [node.input[0], number(e, -1)], out)


@_single("Abs")
def absolute(e, node, out):
    e.node("Max", [node.input[0], e.node("Neg", [node.input[0]])], out)


@_single("Sqrt")
def root(e, node, out):
    e.node("Pow", [node.input[0], number(e, 0.5)], out)


@_single("Reciprocal")
def reciprocal(e, node, out):
    e.node("Div", [number(e, 1), node.input[0]], out)


@_single("Mean")
def mean(e, node, out):
    e.node("Mul", [e.node("Add", node.input), number(e, 0.5)], out)


@_single("HardSigmoid")
def hard_sigmoid(e, node, out):
    alpha, beta = stated(node, "alpha", 0.2), stated(node, "beta", 0.5)
    line = e.node("Add", [e.node("Mul", [node.input[0], number(e, alpha)]), number(e, beta)])
    e.node("Clip", [line, number(e, 0), number(e, 1)], out)


@_single("Elu")
def elu(e, node, out):
    x = node.input[0]
    low = e.node("Sub", [e.node("Exp", [e.node("Min", [x, number(e, 0)])]), number(e, 1)])
    low = e.node("Mul", [low, number(e, stated(node, "alpha", 1.0))])
    e.node("Add", [e.node("Relu", [x]), low], out)


@_single("ReduceMean")
def reduce_mean(e, node, out):
    shape, axes = e.shapes.get(node.input[0]), e.constants.get(node.input[1])
    count = math.prod(shape[int(axis)] for axis in axes)
    keep = stated(node, "keepdims", 1)
    total = e.node("ReduceSum", node.input, keepdims=keep)
    e.node("Div", [total, number(e, count)], out)


@_single("Greater", "Less", "GreaterOrEqual", "LessOrEqual")
def comparison(e, node, out):
    other = {"Greater": "Less", "Less": "Greater", "GreaterOrEqual": "LessOrEqual"}
    e.node(other.get(node.op_type, "GreaterOrEqual"), [node.input[1], node.input[0]], out)


@_single("ReduceLogSumExp")
def log_sum_exp(e, node, out):
    top = e.node("ReduceMax", node.input)
    powers = e.node("Exp", [e.node("Sub", [node.input[0], top])])
    e.node("Add", [e.node("Log", [e.node("ReduceSum", [powers, node.input[1]])]), top], out)


@_single("Hardmax")
def hardmax(e, node, out):
    shape = e.shapes[node.input[0]]
    best = e.node("ArgMax", [node.input[0]], axis=-1, keepdims=0)
    depth = e.constant(np.array(shape[-1], np.int64))
    e.node("OneHot", [best, depth, e.constant(np.array([0, 1], F32))], out)


def subtract_to_add(e: Editor) -> bool:
    for node in e.of("Sub"):
        value = e.constants.get(node.input[1])
        if value is not None and value.dtype == F32:
            e.remove(node)
            e.node("Add", [node.input[0], e.constant(-value)], node.output[0])
            return True
    return False


def divide_to_multiply(e: Editor) -> bool:
    for node in e.of("Div"):
        value = e.constants.get(node.input[1])
        if value is not None and value.dtype == F32:
            turned = e.constant((1 / value.astype(np.float64)).astype(F32))
            e.remove(node)
            e.node("Mul", [node.input[0], turned], node.output[0])
            return True
    return False


DECOMPOSITIONS: dict[str, Rewrite] = {
    rewrite.__name__: rewrite
    for rewrite in (
        layer_norm, softmax, gelu, hard_swish, mish, sigmoid, softsign, relu, leaky_relu, negative,
        absolute, root, reciprocal, mean, hard_sigmoid, elu, reduce_mean, comparison, log_sum_exp,
        hardmax, subtract_to_add, divide_to_multiply,
    )
}  # fmt: skip
