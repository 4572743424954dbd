"""Random TensorFlow expressions: their operators, and single changes of what these state.

A step is the name of an operator, what it states, and numbers for its constants. The same steps
make a graph in float32, and the numbers that it should give, in float64.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf

Stated = Mapping[str, Any]


@dataclass(kw_only=True)
class Step:
    """One operator; ``seed`` is that of its constants, ``nudged`` whether one is changed."""

    name: str
    stated: dict[str, Any]
    seed: int
    nudged: bool = False


@dataclass(frozen=True, kw_only=True)
class Kind:
    """An operator: which tensors it takes, what it may state, and how it is applied."""

    ranks: tuple[int, ...]
    choices: Mapping[str, Sequence[Any]]
    apply: Callable[[Any, Stated, Constants], Any]
    whole: bool = False


@dataclass
class Constants:
    """The constants of a step, drawn in the order in which they are asked for."""

    random: np.random.Generator
    nudged: bool
    dtype: Any
    count: int = field(default=0)

    def __call__(self, *shape: int, positive: bool = False) -> Any:
        """The next constant of a float type."""
        value = self.random.standard_normal(shape).astype(np.float32).astype(np.float64)
        value = np.abs(value) + 0.5 if positive else value
        if self.nudged and not self.count and value.size:
            value.reshape(-1)[-1] *= 1.25
        self.count += 1
        return tf.constant(value.astype(np.float32), self.dtype)


def _number(x: Any, value: float) -> Any:
    return tf.constant(np.float32(value), x.dtype) if x.dtype.is_floating else tf.constant(
        int(value), x.dtype)  # fmt: skip


def _resized(x: Any, s: Stated, _: Constants) -> Any:
    raw = tf.raw_ops.ResizeBilinear if s["bilinear"] else tf.raw_ops.ResizeNearestNeighbor
    found = raw(images=x, size=s["size"], align_corners=s["corners"], half_pixel_centers=s["half"])
    return tf.cast(found, x.dtype)


def _depthwise(x: Any, s: Stated, c: Constants) -> Any:
    stride = s["stride"] if s["dilation"] == 1 else 1
    weight, dilations = c(3, 3, x.shape[3], s["times"]), [s["dilation"]] * 2
    strides = [1, stride, stride, 1]
    return tf.nn.depthwise_conv2d(x, weight, strides, s["padding"], dilations=dilations)


def _transposed_conv(x: Any, s: Stated, c: Constants) -> Any:
    stride, kernel, same = s["stride"], s["kernel"], s["padding"] == "SAME"
    size = [n * stride if same else (n - 1) * stride + kernel for n in x.shape[1:3]]
    weight = c(kernel, kernel, 3, x.shape[3])
    return tf.nn.conv2d_transpose(x, weight, [x.shape[0], *size, 3], stride, s["padding"])


def _sliced(x: Any, s: Stated, _: Constants) -> Any:
    rank = x.shape.rank
    return tf.raw_ops.StridedSlice(
        input=x, begin=list(s["begin"][:rank]), end=list(s["end"][:rank]),
        strides=list(s["strides"][:rank]), begin_mask=s["begin_mask"], end_mask=s["end_mask"],
        ellipsis_mask=s["ellipsis_mask"], new_axis_mask=s["new_axis_mask"],
        shrink_axis_mask=s["shrink_axis_mask"],
    )  # fmt: skip


def _reduced(x: Any, s: Stated, _: Constants) -> Any:
    function = getattr(tf, f"reduce_{s['op']}")
    axes = sorted({axis % x.shape.rank for axis in s["axes"]})
    return function(x, axis=axes, keepdims=s["kept"])


def _batch_norm(x: Any, s: Stated, c: Constants) -> Any:
    size = x.shape[-1]
    scale, shift, mean, variance = c(size), c(size), c(size), c(size, positive=True)
    return (x - mean) * tf.math.rsqrt(variance + _number(x, s["epsilon"])) * scale + shift


def _layer_norm(x: Any, s: Stated, c: Constants) -> Any:
    mean = tf.reduce_mean(x, s["axis"], keepdims=True)
    off = x - mean
    variance = tf.reduce_mean(tf.square(off), s["axis"], keepdims=True)
    return off * tf.math.rsqrt(variance + _number(x, s["epsilon"])) * c(x.shape[-1])


def _binary(x: Any, s: Stated, c: Constants) -> Any:
    functions = {
        "add": tf.add, "sub": tf.subtract, "mul": tf.multiply, "div": tf.divide,
        "max": tf.maximum, "min": tf.minimum, "square": tf.math.squared_difference,
    }  # fmt: skip
    shape = {"row": x.shape[-1:], "all": x.shape[1:], "one": ()}[s["shape"]]
    other = c(*shape, positive=s["op"] == "div")
    one, two = (other, x) if s["turned"] and s["op"] != "div" else (x, other)
    return functions[s["op"]](one, two)


def _whole_binary(x: Any, s: Stated, _: Constants) -> Any:
    functions = {
        "add": tf.add, "sub": tf.subtract, "mul": tf.multiply, "floordiv": tf.math.floordiv,
        "floormod": tf.math.floormod, "truncatediv": tf.truncatediv, "truncatemod": tf.truncatemod,
        "max": tf.maximum, "min": tf.minimum,
    }  # fmt: skip
    return functions[s["op"]](x, tf.constant(s["other"], x.dtype))


def _compared(x: Any, s: Stated, _: Constants) -> Any:
    condition = getattr(tf, s["op"])(x, _number(x, s["bound"]))
    other = {"negative": lambda: -x, "zero": lambda: tf.zeros_like(x), "double": lambda: x + x}
    one, two = x, other[s["other"]]()
    return tf.where(condition, *((two, one) if s["turned"] else (one, two)))


def _unary(x: Any, s: Stated, _: Constants) -> Any:
    functions = {
        "relu": tf.nn.relu, "relu6": tf.nn.relu6, "tanh": tf.tanh, "sigmoid": tf.sigmoid,
        "elu": tf.nn.elu, "selu": tf.nn.selu, "softplus": tf.nn.softplus, "swish": tf.nn.silu,
        "gelu": tf.nn.gelu, "gelu_tanh": lambda y: tf.nn.gelu(y, approximate=True),
        "abs": tf.abs, "neg": tf.negative, "square": tf.square, "round": tf.round,
        "floor": tf.floor, "ceil": tf.math.ceil, "sign": tf.sign, "sin": tf.sin, "cos": tf.cos,
        "root": lambda y: tf.sqrt(tf.abs(y)), "rsqrt": lambda y: tf.math.rsqrt(tf.abs(y) + 1),
        "exp": lambda y: tf.exp(-tf.abs(y)), "log": lambda y: tf.math.log(tf.abs(y) + 1),
        "hard": lambda y: y * tf.nn.relu6(y + 3) / 6, "erf": tf.math.erf,
        "softsign": tf.nn.softsign, "rint": tf.math.rint,
    }  # fmt: skip
    return functions[s["op"]](x)


def _clipped(x: Any, s: Stated, _: Constants) -> Any:
    return tf.clip_by_value(x, _number(x, s["low"]), _number(x, s["high"]))


def _cast(x: Any, s: Stated, _: Constants) -> Any:
    back = x.dtype
    return tf.cast(tf.cast(x, s["dtype"]) * tf.cast(s["factor"], s["dtype"]), back)


def _einsum(x: Any, s: Stated, c: Constants) -> Any:
    return tf.einsum(s["equation"], x, c(x.shape[-1], x.shape[-1]))


def _matmul(x: Any, s: Stated, c: Constants) -> Any:
    return tf.matmul(x, c(x.shape[-1], x.shape[-1]), transpose_b=s["turned"])


def _padded(x: Any, s: Stated, _: Constants) -> Any:
    edges = [(0, 0), *s["edges"][: x.shape.rank - 1]]
    edges += [(0, 0)] * (x.shape.rank - len(edges))
    if s["mode"] == "CONSTANT":
        return tf.pad(x, edges, constant_values=tf.cast(s["value"], x.dtype))
    return tf.pad(x, edges, mode=s["mode"])


def _dense_gather(x: Any, s: Stated, _: Constants) -> Any:
    return tf.gather(x, s["places"], axis=s["axis"])


_ALL = (2, 3, 4)
KINDS: Mapping[str, Kind] = {
    "conv": Kind(ranks=(4,), choices={
        "stride": [1, 2, (1, 2), (2, 1)], "dilation": [1, 1, 2, (2, 1)], "kernel": [(3, 3), (2, 3)],
        "padding": ["SAME", "VALID", [[0, 0], [1, 2], [2, 1], [0, 0]]]},
        apply=lambda x, s, c: tf.nn.conv2d(x, c(*s["kernel"], x.shape[3], 3), s["stride"] if (
            s["dilation"] == 1) else 1, s["padding"], dilations=s["dilation"])),
    "depthwise": Kind(ranks=(4,), choices={
        "stride": [1, 2], "dilation": [1, 2], "padding": ["SAME", "VALID"], "times": [1, 2]},
        apply=_depthwise),
    "transposed": Kind(ranks=(4,), choices={
        "stride": [1, 2, 3], "kernel": [2, 3], "padding": ["SAME", "VALID"]},
        apply=_transposed_conv),
    "pool": Kind(ranks=(4,), choices={
        "type": ["MAX", "AVG"], "size": [2, 3, (2, 3), (3, 2)], "stride": [1, 2, (1, 2)],
        "padding": ["SAME", "VALID"]},
        apply=lambda x, s, _c: {"MAX": tf.nn.max_pool2d, "AVG": tf.nn.avg_pool2d}[s["type"]](
            x, s["size"], s["stride"], s["padding"])),
    "resize": Kind(ranks=(4,), choices={
        "bilinear": [True, False], "size": [(8, 9), (3, 5), (12, 14), (6, 7), (11, 4)],
        "corners_half": [(False, False), (False, True), (True, False)]},
        apply=lambda x, s, c: _resized(x, {**s, "corners": s["corners_half"][0],
                                           "half": s["corners_half"][1]}, c)),
    "blocks": Kind(ranks=(4,), choices={"size": [2]},
        apply=lambda x, s, _c: tf.nn.depth_to_space(tf.concat([x] * 4, 3), s["size"])),
    "bias": Kind(ranks=(2, 4), choices={},
        apply=lambda x, _s, c: tf.nn.bias_add(x, c(x.shape[-1]))),
    "slice": Kind(ranks=_ALL, choices={
        "begin": [(0, 1, 0, 0), (0, 0, 1, -2), (0, -3, 0, 1)],
        "end": [(2, 5, 6, 3), (1, -1, 7, 4), (2, 6, -1, 9)],
        "strides": [(1, 1, 1, 1), (1, 2, 1, 1), (1, 1, 2, 1)], "begin_mask": [0, 1, 2, 4, 6],
        "end_mask": [0, 1, 2, 4, 15], "ellipsis_mask": [0], "new_axis_mask": [0, 0, 1],
        "shrink_axis_mask": [0, 0, 1]}, apply=_sliced),
    "reversed": Kind(ranks=_ALL, choices={"axes": [[1], [0], [-1], [0, 1]]},
        apply=lambda x, s, _c: tf.reverse(x, s["axes"])),
    "turned": Kind(ranks=(4,), choices={"order": [(0, 3, 1, 2), (0, 2, 1, 3), (0, 1, 3, 2)]},
        apply=lambda x, s, _c: tf.transpose(x, s["order"])),
    "folded": Kind(ranks=(4,), choices={"order": [(0, 1, 2, 3), (0, 2, 1, 3)]},
        apply=lambda x, s, _c: tf.reshape(tf.transpose(x, s["order"]),
                                         (x.shape[0], -1, x.shape[3]))),
    "reduced": Kind(ranks=(3, 4), choices={
        "op": ["sum", "mean", "max", "min"], "axes": [(1,), (2,), (-1,), (1, 2)],
        "kept": [True, False]}, apply=_reduced),
    "joined": Kind(ranks=_ALL, choices={"axis": [1, -1], "turned": [True, False]},
        apply=lambda x, s, _c: tf.concat([-x, x] if s["turned"] else [x, -x], s["axis"])),
    "part": Kind(ranks=_ALL, choices={"place": [0, 1, -1], "axis": [1, -1]},
        apply=lambda x, s, _c: tf.split(
            x, [1, 1, x.shape[s["axis"]] - 2], s["axis"])[s["place"]]),
    "tiled": Kind(ranks=(2, 3), choices={"times": [(1, 2, 1), (2, 1, 1)]},
        apply=lambda x, s, _c: tf.tile(x, s["times"][: x.shape.rank])),
    "gathered": Kind(ranks=_ALL, choices={
        "places": [[0, 1], [1, 0], [1, 1], [[0, 1], [1, 0]]], "axis": [1, -1, 0]},
        apply=_dense_gather),
    "softmax": Kind(ranks=_ALL, choices={"axis": [-1, 1], "log": [False, True]},
        apply=lambda x, s, _c: (tf.nn.log_softmax if s["log"] else tf.nn.softmax)(x, s["axis"])),
    "running": Kind(ranks=_ALL, choices={
        "axis": [1, -1], "exclusive": [False, True], "reverse": [False, True]},
        apply=lambda x, s, _c: tf.cumsum(x, s["axis"], s["exclusive"], s["reverse"])),
    "largest place": Kind(ranks=_ALL, choices={"axis": [1, -1], "negative": [False, True]},
        apply=lambda x, s, _c: tf.cast(
            tf.argmax(-x if s["negative"] else x, s["axis"], tf.int32), x.dtype)),
    "unary": Kind(ranks=_ALL, choices={"op": [
        "relu", "relu6", "tanh", "sigmoid", "elu", "selu", "softplus", "swish", "gelu", "gelu_tanh",
        "abs", "neg", "square", "round", "floor", "ceil", "sign", "sin", "cos", "root", "rsqrt",
        "exp", "log", "hard", "erf", "softsign", "rint"]}, apply=_unary),
    "leaky": Kind(ranks=_ALL, choices={"alpha": [0.1, 0.2, 0.0, 1.0, 1.5, -0.5]},
        apply=lambda x, s, _c: tf.nn.leaky_relu(x, s["alpha"])),
    "binary": Kind(ranks=_ALL, choices={
        "op": ["add", "sub", "mul", "div", "max", "min", "square"], "shape": ["row", "all", "one"],
        "turned": [False, True]}, apply=_binary),
    "power": Kind(ranks=_ALL, choices={"exponent": [2.0, 3.0, 0.5, -1.0, 1.0, 4.0, 1.5]},
        apply=lambda x, s, _c: tf.pow(tf.abs(x) + 1, _number(x, s["exponent"]))),
    "clipped": Kind(ranks=_ALL, choices={
        "low": [-1.0, 0.0, -500.0], "high": [1.0, 6.0, 500.0]}, apply=_clipped),
    "compared": Kind(ranks=_ALL, choices={
        "op": ["less", "less_equal", "greater", "greater_equal", "equal", "not_equal"],
        "bound": [0.0, 1.0, -2.0, 300.0], "other": ["negative", "zero", "double"],
        "turned": [False, True]}, apply=_compared),
    "normalized": Kind(ranks=_ALL, choices={"epsilon": [1e-3, 1e-5]}, apply=_batch_norm),
    "centered": Kind(ranks=_ALL, choices={"epsilon": [1e-3, 1e-5], "axis": [-1]},
        apply=_layer_norm),
    "cast": Kind(ranks=_ALL, choices={
        "dtype": [tf.int32, tf.int64, tf.float16, tf.int8, tf.bool, tf.uint8], "factor": [1]},
        apply=lambda x, s, _c: tf.cast(tf.cast(x, s["dtype"]), x.dtype)),
    "einsum": Kind(ranks=(3,), choices={
        "equation": ["abc,cd->abd", "abc,dc->abd", "abc,cd->adb"]}, apply=_einsum),
    "matrix": Kind(ranks=(2, 3), choices={"turned": [False, True]}, apply=_matmul),
    "padded": Kind(ranks=_ALL, choices={
        "mode": ["CONSTANT", "CONSTANT", "REFLECT", "SYMMETRIC"],
        "edges": [[(1, 0)], [(0, 1)], [(1, 1)]], "value": [0, 1]}, apply=_padded),
    "whole": Kind(ranks=_ALL, whole=True, choices={
        "op": ["add", "sub", "mul", "floordiv", "floormod", "truncatediv", "truncatemod", "max",
               "min"], "other": [2, 3, -3, 7, 65537]}, apply=_whole_binary),
    "whole cast": Kind(ranks=_ALL, whole=True, choices={
        "dtype": [tf.int64, tf.float32, tf.int8, tf.bool, tf.int16, tf.uint8],
        "factor": [1]}, apply=_cast),
    "whole compared": Kind(ranks=_ALL, whole=True, choices={
        "op": ["less", "less_equal", "greater", "greater_equal", "equal", "not_equal"],
        "bound": [0, 1, -2, 3], "other": ["negative", "zero", "double"], "turned": [False, True]},
        apply=_compared),
    "whole unary": Kind(ranks=_ALL, whole=True, choices={"op": ["abs", "neg", "square", "sign"]},
        apply=_unary),
}  # fmt: skip
_MOVES = ("slice", "reversed", "turned", "joined", "part", "tiled", "gathered", "reduced", "padded")
"""Operators that whole numbers know as well."""


def applied(steps: Sequence[Step], x: Any) -> Any:
    """What the steps compute from a tensor."""
    for step in steps:
        random = np.random.default_rng(step.seed)
        dtype = x.dtype if x.dtype.is_floating else tf.float32
        x = KINDS[step.name].apply(x, step.stated, Constants(random, step.nudged, dtype))
    return x


def random_steps(random: np.random.Generator, shape: Sequence[int], *, whole: bool) -> list[Step]:
    """One to five steps that fit each other, found by trying."""
    steps: list[Step] = []
    x = tf.zeros(shape, tf.int32 if whole else tf.float32)
    count = int(random.integers(1, 6))
    names = [name for name, kind in KINDS.items() if kind.whole is whole]
    names += list(_MOVES) if whole else []
    for _ in range(40):
        name = str(random.choice(names))
        if x.shape.rank not in KINDS[name].ranks:
            continue
        stated = {key: each[int(random.integers(len(each)))]
                  for key, each in KINDS[name].choices.items()}  # fmt: skip
        step = Step(name=name, stated=stated, seed=int(random.integers(1 << 30)))
        try:
            y = applied([step], x)
        except (tf.errors.OpError, ValueError, TypeError):
            continue
        if not y.shape.num_elements() or y.shape.num_elements() > 2000:
            continue
        steps.append(step)
        x = y
        if len(steps) == count:
            break
    return steps


def changed_steps(steps: Sequence[Step], random: np.random.Generator) -> tuple[list[Step], str]:
    """The steps with one change: of what one states, of a number of a constant, or of the order."""
    found = copy.deepcopy(list(steps))
    place = int(random.integers(len(found)))
    step = found[place]
    draw = random.random()
    if draw < 0.15 and len(found) > 1:
        other = (place + 1) % len(found)
        found[place], found[other] = found[other], found[place]
        return found, "order"
    keys = [key for key, each in KINDS[step.name].choices.items() if len(each) > 1]
    if draw < 0.3 or not keys:
        step.nudged = True
        return found, f"{step.name} constant"
    key = str(random.choice(keys))
    others = [each for each in KINDS[step.name].choices[key] if each != step.stated[key]]
    step.stated[key] = others[int(random.integers(len(others)))]
    return found, f"{step.name} {key}"
