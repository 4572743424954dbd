"""ONNX graphs of any size, and copies that a converter might have made of them."""

from __future__ import annotations

import random

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

CHANNELS, SIDE = 4, 6
PER_BLOCK = 10
"""Nodes of one block; two of them are batch normalizations, which folding takes away."""

VARIANTS = ("renamed", "reordered", "folded")


def grown(nodes: int, seed: int = 0) -> onnx.ModelProto:
    """A residual network of about so many nodes, with twigs that any order may take first."""
    rng = np.random.default_rng(seed)
    made: list[onnx.NodeProto] = []
    stored: dict[str, np.ndarray] = {"axes": np.array([2, 3], np.int64)}
    wire = "x"
    for block in range(max(1, nodes // PER_BLOCK)):
        wire = _block(made, stored, rng, block, wire)
    graph = helper.make_graph(
        made,
        "grown",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, CHANNELS, SIDE, SIDE])],
        [helper.make_tensor_value_info(wire, TensorProto.FLOAT, [1, CHANNELS, SIDE, SIDE])],
        [numpy_helper.from_array(value, name) for name, value in stored.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def _block(made, stored, rng, block, wire):
    def node(op, inputs, output, **attributes):
        name = f"b{block}/{output}"
        made.append(helper.make_node(op, inputs, [name], f"{name}/{op}", **attributes))
        return name

    def weight(word, value):
        stored[f"b{block}.{word}"] = value.astype(np.float32)
        return f"b{block}.{word}"

    def twig(word, source):
        kernel = rng.normal(size=(CHANNELS, CHANNELS, 3, 3)) * 0.2
        out = node("Conv", [source, weight(f"{word}.w", kernel),
                            weight(f"{word}.b", rng.normal(size=CHANNELS))],
                   f"{word}_conv", pads=[1, 1, 1, 1])  # fmt: skip
        parts = [1 + 0.2 * rng.normal(size=CHANNELS), rng.normal(size=CHANNELS),
                 rng.normal(size=CHANNELS), 0.5 + rng.random(CHANNELS)]  # fmt: skip
        names = [weight(f"{word}.{key}", part) for key, part in zip("goms", parts, strict=True)]
        return node("BatchNormalization", [out, *names], f"{word}_norm", epsilon=1e-5)

    left = node("Relu", [twig("left", wire)], "left")
    right = node("Tanh", [twig("right", wire)], "right")
    gate = node("Sigmoid", [node("ReduceMean", [left, "axes"], "mean", keepdims=1)], "gate")
    scaled = node("Mul", [right, gate], "scaled")
    # The norm keeps thousands of blocks at one size.
    return node("Add", [wire, scaled], "sum") if block % 4 else node("Tanh", [scaled], "sum")


def copied(model: onnx.ModelProto, variant: str, seed: int = 1) -> onnx.ModelProto:
    """The same function as another program would write it down."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    if variant == "folded":
        _fold(copy)
    if variant != "renamed":
        _reorder(copy, random.Random(seed))
    _rename(copy)
    return copy


def _rename(model: onnx.ModelProto) -> None:
    graph = model.graph
    doors = {value.name for value in (*graph.input, *graph.output)}
    names = [tensor.name for tensor in graph.initializer]
    names += [name for node in graph.node for name in node.output]
    new = {name: f"v{place}" for place, name in enumerate(names) if name not in doors}
    for tensor in graph.initializer:
        tensor.name = new.get(tensor.name, tensor.name)
    for place, node in enumerate(graph.node):
        node.name = f"op{place}"
        for wires in (node.input, node.output):
            wires[:] = [new.get(name, name) for name in wires]


def _reorder(model: onnx.ModelProto, chance: random.Random) -> None:
    """Any order in which each node stands behind what it reads; weights in any order at all."""
    nodes = list(model.graph.node)
    makers = {name: place for place, node in enumerate(nodes) for name in node.output}
    waiting = [len({makers[name] for name in node.input if name in makers}) for node in nodes]
    readers: dict[int, set[int]] = {}
    for place, node in enumerate(nodes):
        for name in node.input:
            if name in makers:
                readers.setdefault(makers[name], set()).add(place)
    ready = [place for place, count in enumerate(waiting) if not count]
    order = []
    while ready:
        place = ready.pop(chance.randrange(len(ready)))
        order.append(place)
        for reader in sorted(readers.get(place, ())):
            waiting[reader] -= 1
            if not waiting[reader]:
                ready.append(reader)
    stored = list(model.graph.initializer)
    chance.shuffle(stored)
    del model.graph.node[:], model.graph.initializer[:]
    model.graph.node.extend(nodes[place] for place in order)
    model.graph.initializer.extend(stored)


def _fold(model: onnx.ModelProto) -> None:
    """Every batch normalization into the convolution before it, in float32 as tools do."""
    graph = model.graph
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    makers = {node.output[0]: node for node in graph.node}
    kept = []
    for node in graph.node:
        if node.op_type != "BatchNormalization":
            kept.append(node)
            continue
        conv = makers[node.input[0]]
        scale, offset, mean, variance = (stored.pop(name) for name in node.input[1:5])
        factor = scale / np.sqrt(variance + np.float32(1e-5))
        kernel, bias = conv.input[1], conv.input[2]
        stored[kernel] = stored[kernel] * factor.reshape(-1, 1, 1, 1)
        stored[bias] = (stored[bias] - mean) * factor + offset
        conv.output[0] = node.output[0]
    del graph.node[:], graph.initializer[:]
    graph.node.extend(kept)
    graph.initializer.extend(
        numpy_helper.from_array(value.astype(value.dtype), name) for name, value in stored.items()
    )
