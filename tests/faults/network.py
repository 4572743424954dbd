"""A network with a bit of everything, and faults that can be planted in it."""

from __future__ import annotations

import copy

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

RNG = np.random.default_rng(7)


def _weights():
    def draw(*shape, scale=0.4):
        return (scale * RNG.normal(size=shape)).astype(np.float32)

    return {
        "w1": draw(6, 3, 3, 3), "b1": draw(6), "g": draw(6) + 1, "o": draw(6), "m": draw(6),
        "v": np.abs(draw(6)) + 0.1, "w2": draw(6, 6, 3, 3), "b2": draw(6), "k": draw(12, 12),
        "h": draw(12), "lg": draw(12) + 1, "lo": draw(12), "k2": draw(12, 5), "h2": draw(5),
        "shape": np.array([2, 12], np.int64), "two": np.array(2.0, np.float32),
    }  # fmt: skip


WEIGHTS = _weights()


def network() -> onnx.ModelProto:
    """Convolutions, batch norm, pooling, a residual, layer norm, GELU-like parts and a softmax."""
    n = helper.make_node
    nodes = [
        n("Conv", ["x", "w1", "b1"], ["c1"], "conv1", pads=[1, 1, 1, 1]),
        n("BatchNormalization", ["c1", "g", "o", "m", "v"], ["n1"], "norm1", epsilon=1e-3),
        n("LeakyRelu", ["n1"], ["a1"], "act1", alpha=0.1),
        n("Conv", ["a1", "w2", "b2"], ["c2"], "conv2", pads=[1, 1, 1, 1]),
        n("Sub", ["c2", "a1"], ["s1"], "minus"),
        n("AveragePool", ["s1"], ["p1"], "pool", kernel_shape=[3, 3], pads=[1, 1, 1, 1],
          strides=[4, 4], count_include_pad=1),
        n("Concat", ["p1", "p1b"], ["cat"], "join", axis=1),
        n("ReduceMean", ["cat"], ["rm"], "mean", axes=[2, 3], keepdims=0),
        n("Gemm", ["rm", "k", "h"], ["f1"], "dense1"),
        n("LayerNormalization", ["f1", "lg", "lo"], ["ln"], "norm2", epsilon=1e-5),
        n("Sigmoid", ["ln"], ["sg"], "gate"),
        n("Mul", ["ln", "sg"], ["sw"], "swish"),
        n("Gemm", ["sw", "k2", "h2"], ["logits"], "dense2"),
        n("Softmax", ["logits"], ["probs"], "soft", axis=1),
    ]  # fmt: skip
    nodes.insert(6, n("MaxPool", ["s1"], ["p1b"], "peak", kernel_shape=[3, 3], pads=[1, 1, 1, 1],
                      strides=[4, 4]))  # fmt: skip
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 8, 8])],
        [
            helper.make_tensor_value_info("logits", TensorProto.FLOAT, [2, 5]),
            helper.make_tensor_value_info("probs", TensorProto.FLOAT, [2, 5]),
        ],
        [numpy_helper.from_array(value, name) for name, value in WEIGHTS.items()
         if name not in {"shape", "two"}],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def find(model: onnx.ModelProto, name: str) -> onnx.NodeProto:
    return next(node for node in model.graph.node if node.name == name)


def attribute(name, key, value):
    def plant(model):
        node = find(model, name)
        kept = [each for each in node.attribute if each.name != key]
        del node.attribute[:]
        node.attribute.extend([*kept, helper.make_attribute(key, value)])

    return plant


def constant(name, change):
    def plant(model):
        tensor = next(t for t in model.graph.initializer if t.name == name)
        value = np.ascontiguousarray(change(numpy_helper.to_array(tensor).copy()))
        tensor.CopyFrom(numpy_helper.from_array(value.astype(np.float32), name))

    return plant


def exchanged(name):
    def plant(model):
        node = find(model, name)
        node.input[0], node.input[1] = node.input[1], node.input[0]

    return plant


def dropped_bias(name):
    def plant(model):
        del find(model, name).input[2]

    return plant


def through_half(name):
    """The node's output takes a detour through float16, a thousand times too large for it."""

    def plant(model):
        place = [node.name for node in model.graph.node].index(name)
        node = model.graph.node[place]
        wire = node.output[0]
        node.output[0] = f"{wire}_wide"
        detour = [
            helper.make_node("Cast", [f"{wire}_wide"], [f"{wire}_half"], "half", to=10),
            helper.make_node("Cast", [f"{wire}_half"], [wire], "half_back", to=1),
        ]
        nodes = list(model.graph.node)
        del model.graph.node[:]
        model.graph.node.extend([*nodes[: place + 1], *detour, *nodes[place + 1 :]])

    return plant


def corrupted(value):
    value.flat[3] += 1.0
    return value


FAULTS = {
    "epsilon": (attribute("norm1", "epsilon", 3e-2), "norm1", "attribute"),
    "slope": (attribute("act1", "alpha", 0.2), "act1", "attribute"),
    "pool": (attribute("pool", "count_include_pad", 0), "pool", "attribute"),
    "layer-epsilon": (attribute("norm2", "epsilon", 1e-2), "norm2", "attribute"),
    "pads": (attribute("conv2", "pads", [0, 1, 2, 1]), "conv2", "attribute"),
    "axis": (attribute("soft", "axis", 0), "soft", "attribute"),
    "half-weight": (constant("k", lambda w: w.astype(np.float16)), "dense1", "weight"),
    "corrupted": (constant("w2", corrupted), "conv2", "weight"),
    "stale": (constant("k2", lambda w: w[::-1] * 1.5), "dense2", "weight"),
    "permuted": (constant("w1", lambda w: w[[1, 0, 2, 3, 4, 5]]), "conv1", "weight"),
    "transposed": (constant("k", lambda w: w.T), "dense1", "layout"),
    "bias": (dropped_bias("conv1"), "conv1", "weight"),
    "operands": (exchanged("minus"), "minus", "layout"),
    "concat": (exchanged("join"), "join", "layout"),
}


def planted(*names: str) -> onnx.ModelProto:
    model = copy.deepcopy(network())
    for name in names:
        FAULTS[name][0](model)
    return model
