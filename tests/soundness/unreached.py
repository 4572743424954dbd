"""Pairs whose difference no input shows, beside faithful versions of the same rewrite.

Every maker draws its sizes, positions and numbers from a seed. A pair that is not ``same`` holds
one wrong constant that the given inputs do not reach.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two models, the inputs of both, and whether they are one function."""

    reference: onnx.ModelProto
    candidate: onnx.ModelProto
    inputs: Mapping[str, Array]
    same: bool


Maker = Callable[[np.random.Generator, bool], Pair]


def model(nodes, inputs, outputs, constants, opset=21, functions=()):
    """An ONNX model; constants are arrays or finished tensors."""

    def spec(name, value):
        dtype = helper.np_dtype_to_tensor_dtype(value[0])
        return helper.make_tensor_value_info(name, dtype, value[1])

    graph = helper.make_graph(
        nodes,
        "g",
        [spec(*each) for each in inputs.items()],
        [spec(*each) for each in outputs.items()],
        [
            each if isinstance(each, onnx.TensorProto) else numpy_helper.from_array(each, name)
            for name, each in constants.items()
        ],
    )
    domains = {each.domain for each in (*nodes, *functions)} - {""}
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, 1) for d in sorted(domains))]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10, functions=list(functions))


def node(op, inputs, output, **attributes):
    return helper.make_node(op, inputs.split(), [output], name=f"{op}_{output}", **attributes)


F32 = np.dtype(np.float32)


def _wrong_grid(random, scale, zero, channel):
    """One scale or one zero point off by more than the grid's own rounding."""
    scale, zero = scale.copy(), zero.copy()
    if random.random() < 0.6:
        factor = 1.0 + float(np.exp(random.uniform(np.log(0.03), np.log(0.5))))
        scale[channel] *= factor if random.random() < 0.5 else 1.0 / factor
    else:
        zero[channel] += int(random.integers(2, 6))
    return scale, zero


def channel_scale(random: np.random.Generator, same: bool) -> Pair:
    """A float layer against one of int8 with a scale for each channel, one of which is wrong."""
    conv = random.random() < 0.5
    channels, inner = int(random.integers(4, 12)), int(random.integers(6, 24))
    kernel = (3, 3) if conv else ()
    shape = (channels, inner, *kernel) if conv else (inner, channels)
    axis = 0 if conv else 1
    weight = random.normal(size=shape).astype(np.float32)
    others = tuple(each for each in range(weight.ndim) if each != axis)
    scale = (np.abs(weight).max(axis=others) / 127).astype(np.float32)
    zero = np.zeros(channels, np.int8)
    along = [-1 if each == axis else 1 for each in range(weight.ndim)]
    whole = weight / scale.reshape(along)
    learned = random.random() < 0.3
    if same and learned:  # rounded up or down as training found best
        whole = np.floor(whole) + (random.random(whole.shape) < 0.5)
    stored = np.clip(np.rint(whole), -127, 127).astype(np.int8)
    channel = int(random.integers(channels))
    if not same:
        scale, zero = _wrong_grid(random, scale, zero, channel)
    limit = np.zeros((channels, 1, 1) if conv else channels, np.float32)
    limit[channel] = random.choice([0.0, 1e4])
    op, size = ("Conv", (1, inner, 6, 6)) if conv else ("MatMul", (3, inner))
    result = (1, channels, 4, 4) if conv else (3, channels)
    after = [node("Sub", "m t", "u"), node("Relu", "u", "y")]
    reads = {"x": (F32, size)}, {"y": (F32, result)}
    reference = model([node(op, "x w", "m"), *after], *reads, {"w": weight, "t": limit})
    candidate = model(
        [node("DequantizeLinear", "w s z", "r", axis=axis), node(op, "x r", "m"), *after],
        *reads,
        {"w": stored, "s": scale, "z": zero, "t": limit},
    )
    inputs = {"x": random.normal(size=size).astype(np.float32)}
    return Pair(reference=reference, candidate=candidate, inputs=inputs, same=same)


def _blocked(random, same, packed):
    block = int(random.choice([16, 32]))
    blocks, columns = int(random.integers(2, 6)), int(random.integers(4, 24))
    inner = block * blocks
    weight = random.normal(size=(inner, columns)).astype(np.float32)
    parts = weight.reshape(blocks, block, columns)
    scale = (np.abs(parts).max(axis=1) / 7).astype(np.float32)
    whole = parts / scale[:, None]
    if same and random.random() < 0.3:
        whole = np.floor(whole) + (random.random(whole.shape) < 0.5)
    stored = np.clip(np.rint(whole), -8, 7).astype(np.int8).reshape(inner, columns)
    column, row = int(random.integers(columns)), int(random.integers(inner))
    if not same:
        if random.random() < 0.5:
            scale[row // block, column] *= random.choice([0.6, 0.7, 1.4, 1.6])
        else:
            value = stored[row, column]
            stored[row, column] = value + 4 if value < 3 else value - 4
    return weight, stored, scale, block, column


def blocked_grid(random: np.random.Generator, same: bool) -> Pair:
    """A float product against int4 in blocks, with one scale or one number wrong."""
    weight, stored, scale, block, column = _blocked(random, same, packed=False)
    limit = np.zeros(weight.shape[1], np.float32)
    limit[column] = random.choice([0.0, 1e4])
    size, result = (3, weight.shape[0]), (3, weight.shape[1])
    reads = {"x": (F32, size)}, {"y": (F32, result)}
    after = [node("Sub", "m t", "u"), node("Relu", "u", "y")]
    reference = model([node("MatMul", "x w", "m"), *after], *reads, {"w": weight, "t": limit})
    if random.random() < 0.5:
        integers = helper.make_tensor("w", TensorProto.INT4, stored.shape, stored.ravel().tolist())
        first = [
            node("DequantizeLinear", "w s", "r", axis=0, block_size=block),
            node("MatMul", "x r", "m"),
        ]
        constants = {"w": integers, "s": scale, "t": limit}
    else:
        units = (stored.T.astype(np.int16) + 8).astype(np.uint8)
        packed = (units[:, 0::2] | (units[:, 1::2] << 4)).reshape(len(units), -1, block // 2)
        first = [
            node("MatMulNBits", "x w s", "m", domain="com.microsoft", bits=4, block_size=block,
                 N=weight.shape[1], K=weight.shape[0])
        ]  # fmt: skip
        constants = {"w": packed, "s": np.ascontiguousarray(scale.T).ravel(), "t": limit}
    candidate = model([*first, *after], *reads, constants)
    inputs = {"x": random.normal(size=size).astype(np.float32)}
    return Pair(reference=reference, candidate=candidate, inputs=inputs, same=same)


def _layer(op, weight, random):
    """A node that applies a weight to x, in one of two spellings for each operator."""
    if op == "Conv":
        return [node("Conv", "v w", "m")], {"w": weight}, (1, weight.shape[1], 4, 4)
    if random.random() < 0.5:
        return [node("Gemm", "v w", "m")], {"w": weight}, (3, weight.shape[0])
    return [node("MatMul", "v w", "m")], {"w": weight}, (3, weight.shape[0])


def small_weight(random: np.random.Generator, same: bool) -> Pair:
    """A small weight in a graph that is rewritten elsewhere, behind a ReLU that stays shut."""
    op = "Conv" if random.random() < 0.4 else "MatMul"
    inner, channels = int(random.integers(2, 6)), int(random.integers(1, 5))
    shape = (channels, inner, 1, 1) if op == "Conv" else (inner, channels)
    weight = random.normal(size=shape).astype(np.float32)
    seed = int(random.integers(1 << 30))
    first, constants, size = _layer(op, weight, np.random.default_rng(seed))
    wide = (1, channels, 4, 4) if op == "Conv" else (3, channels)
    limit = np.full((channels, 1, 1) if op == "Conv" else (channels,), 1e4, np.float32)
    scale = random.normal(size=(inner, 1, 1) if op == "Conv" else (inner,)).astype(np.float32)
    constants |= {"t": limit, "k": scale}
    before, after = (
        [node("Mul", "x k", "v")],
        [node("Sub", "m t", "u"), node("Relu", "u", "h")],
    )
    last = [node("ReduceMean", "x", "c", keepdims=0), node("Add", "h c", "y")]
    reads = {"x": (F32, size)}, {"y": (F32, wide)}
    reference = model([*before, *first, *after, *last], *reads, constants)
    other = dict(constants)
    kind = random.integers(4)
    if not same:
        other["w"] = weight * np.float32(1.5)
        if kind:
            other["w"] = random.normal(size=shape).astype(np.float32)
    elif kind == 1:  # made up for right behind it
        other["w"] = -weight
        first = [*first[:-1], _renamed(first[-1], "n"), node("Neg", "n", "m")]
    elif kind == 2:  # made up for by a scale
        other |= {"w": weight * np.float32(2), "half": np.float32([0.5])}
        first = [*first[:-1], _renamed(first[-1], "n"), node("Mul", "n half", "m")]
    rewritten = [
        node("Identity", "x", "i"),
        node("Mul", "k i", "v"),
        *first,
        node("Sub", "m t", "u"),
        node("LeakyRelu", "u", "h", alpha=0.0),
        node("ReduceMean", "i", "c", keepdims=0),
        node("Add", "c h", "y"),
    ]
    candidate = model(rewritten, *reads, other)
    inputs = {"x": random.normal(size=size).astype(np.float32)}
    return Pair(reference=reference, candidate=candidate, inputs=inputs, same=same)


def _renamed(each, output):
    copy = onnx.NodeProto()
    copy.CopyFrom(each)
    copy.output[0] = output
    return copy


def table(random: np.random.Generator, same: bool) -> Pair:
    """A table of rows that is stored in shards, as integers, with other rows, or not computed."""
    rows, width = int(random.integers(20, 200)), int(random.integers(3, 12))
    left, right = random.normal(size=(rows, 4)), random.normal(size=(4, width))
    factors = {"a": left.astype(np.float32), "b": right.astype(np.float32)}
    values = factors["a"] @ factors["b"]
    wrong, kind = values.copy(), int(random.integers(5))
    damaged = int(random.integers(10, rows))
    if not same and kind != 1:
        wrong[damaged] += np.float32(random.choice([0.5, -1.0, 2.0]))
    reads = {"i": (np.dtype(np.int64), (3,))}, {"y": (F32, (3, width))}
    whole = [node("Gather", "t i", "y")]
    reference = model(whole, *reads, {"t": values})
    if kind == 0:  # in shards
        cut = int(random.integers(1, rows))
        joined = [node("Concat", "p q", "t", axis=0), *whole]
        candidate = model(joined, *reads, {"p": wrong[:cut], "q": wrong[cut:]})
    elif kind == 1:  # fewer rows, or rows of padding
        kept = values[: -int(random.integers(1, rows // 2))]
        padded = np.concatenate([values, np.zeros((3, width), np.float32)])
        candidate = model(whole, *reads, {"t": padded if same else kept})
    elif kind == 2:  # folded
        reference = model([node("MatMul", "a b", "t"), *whole], *reads, factors)
        candidate = model(whole, *reads, {"t": wrong})
    elif kind == 3:  # dequantized once its rows are selected
        scale, zero = np.float32(np.abs(values).max() / 127), np.uint8(128)
        stored = np.clip(np.rint(wrong / scale) + 128, 0, 255).astype(np.uint8)
        behind = [node("Gather", "t i", "g"), node("DequantizeLinear", "g s z", "y")]
        candidate = model(behind, *reads, {"t": stored, "s": scale, "z": zero})
    else:  # transposed
        turned = [node("Transpose", "v", "t", perm=[1, 0]), *whole]
        candidate = model(turned, *reads, {"v": np.ascontiguousarray(wrong.T)})
    inputs = {"i": random.integers(0, 10, size=3)}
    return Pair(reference=reference, candidate=candidate, inputs=inputs, same=same)


def narrow_weight(random: np.random.Generator, same: bool) -> Pair:
    """A float16 weight that is cast before its use, one number off by one unit or by several."""
    weight = random.normal(size=(int(random.integers(6, 20)), 5)).astype(np.float16)
    other = weight.copy()
    place = tuple(int(random.integers(size)) for size in weight.shape)
    other.view(np.uint16)[place] += 1 if same else int(random.integers(3, 60))
    size, result = (4, weight.shape[0]), (4, 5)
    sides = [
        model(
            [node("Cast", "w", "r", to=TensorProto.FLOAT), node("MatMul", "x r", "y")],
            {"x": (F32, size)},
            {"y": (F32, result)},
            {"w": each},
        )
        for each in (weight, other)
    ]
    inputs = {"x": random.normal(size=size).astype(np.float32)}
    return Pair(reference=sides[0], candidate=sides[1], inputs=inputs, same=same)


def function_weight(random: np.random.Generator, same: bool) -> Pair:
    """A weight inside a function of the file, which the other side may hold without one."""
    inner, columns = int(random.integers(4, 9)), int(random.integers(3, 7))
    weight = np.abs(random.normal(size=(inner, columns))).astype(np.float32) + np.float32(0.1)
    other = weight.copy()
    if not same:
        place = int(random.integers(inner)), int(random.integers(columns))
        other[place] *= np.float32(random.choice([0.5, 1.1, 3.0]))
    reads = {"x": (F32, (2, inner))}, {"y": (F32, (2, columns))}

    def called(value):
        constant = helper.make_node(
            "Constant", [], ["w"], value=numpy_helper.from_array(value, "w")
        )
        steps = [constant, node("MatMul", "a w", "m"), node("Relu", "m", "o")]
        made = helper.make_function(
            "local", "Layer", ["a"], ["o"], steps, [helper.make_opsetid("", 21)]
        )
        return model([node("Layer", "x", "y", domain="local")], *reads, {}, functions=[made])

    candidate = called(other)
    if random.random() < 0.5:
        steps = [node("MatMul", "x w", "m"), node("Relu", "m", "y")]
        candidate = model(steps, *reads, {"w": other})
    inputs = {"x": -np.abs(random.normal(size=(2, inner))).astype(np.float32)}
    return Pair(reference=called(weight), candidate=candidate, inputs=inputs, same=same)


MAKERS: Mapping[str, Maker] = {
    "channel_scale": channel_scale,
    "blocked_grid": blocked_grid,
    "small_weight": small_weight,
    "table": table,
    "narrow_weight": narrow_weight,
    "function_weight": function_weight,
}


def pair(maker: str, seed: int) -> Pair:
    """The pair of a seed: even ones are the same function, odd ones are not."""
    return MAKERS[maker](np.random.default_rng(seed), seed % 2 == 0)
