"""Faults in the weights of an exported decoder, and in those that a quantizer packed."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx

from decoders.edited_graph import EditedGraph
from decoders.float_faults import LAYER

QUERY, KEY, VALUE, OUT, GATE, UP, DOWN = range(7)


def rounded_layer(graph: EditedGraph) -> None:
    """The weights of one node went through bfloat16."""
    node = graph.linear(LAYER, DOWN)
    values = graph.constant(node.input[1])
    graph.store(node.input[1], values.astype(ml_dtypes.bfloat16).astype(values.dtype))
    graph.mark(node)


def swapped_gate(graph: EditedGraph) -> None:
    """The gate has the weights of the other branch, and that one those of the gate.

    Nodes that read the one for the other are the same fault.
    """
    gate, up = graph.linear(LAYER, GATE), graph.linear(LAYER, UP)
    gate.input[1], up.input[1] = up.input[1], gate.input[1]
    graph.mark(gate, up, *graph.readers(gate.output[0]), *graph.readers(up.output[0]))


def norm_plus_one(graph: EditedGraph) -> None:
    """The weights of a normalization are stored as their distance from one."""
    node = graph.norm(LAYER)
    name = next(each for each in node.input if graph.is_constant(each))
    graph.store(name, graph.constant(name) - 1)
    graph.mark(node)


def permuted_heads(graph: EditedGraph) -> None:
    """The rows of the keys are in the order that another format stores them in."""
    node = graph.linear(LAYER, KEY)
    values = graph.constant(node.input[1])
    inner, outer = values.shape
    split = values.reshape(inner, -1, 2, graph.head_size // 2).swapaxes(2, 3)
    graph.store(node.input[1], split.reshape(inner, outer))
    graph.mark(node)


def packing_order(graph: EditedGraph) -> None:
    """The two numbers of each byte are exchanged."""
    node = graph.linear(LAYER, QUERY)
    packed = graph.constant(node.input[1])
    graph.store(node.input[1], (packed >> 4) | (packed << 4))
    graph.mark(node)


def group_axis(graph: EditedGraph) -> None:
    """The scales were written with their groups on the other axis."""
    node = graph.linear(LAYER, GATE)
    rows, inner, block = (_attribute(node, name) for name in ("N", "K", "block_size"))
    scales = graph.constant(node.input[2])
    other = scales.reshape(rows, inner // block).T
    graph.store(node.input[2], np.ascontiguousarray(other).reshape(scales.shape))
    graph.mark(node)


def shifted_zero_point(graph: EditedGraph) -> None:
    """Every zero point of a node is one too large, as far as it can be."""
    node = graph.linear(LAYER, UP)
    packed = graph.constant(node.input[3])
    low, high = packed & 15, packed >> 4
    graph.store(node.input[3], np.minimum(low + 1, 15) | (np.minimum(high + 1, 15) << 4))
    graph.mark(node)


def accuracy_level(graph: EditedGraph) -> None:
    """One node also quantizes its activations to eight bits."""
    node = graph.linear(LAYER, DOWN)
    kept = [each for each in node.attribute if each.name != "accuracy_level"]
    del node.attribute[:]
    node.attribute.extend([*kept, onnx.helper.make_attribute("accuracy_level", 4)])
    graph.mark(node)


def int8_scale(graph: EditedGraph) -> None:
    """The scales of the channels of one weight are off by one channel."""
    node = graph.linear(LAYER, VALUE)
    name = node.input[1].removesuffix("_quantized") + "_scale"
    graph.store(name, np.roll(graph.constant(name), 1))
    graph.mark(node, *_scaling(graph, name))


def int8_zero_point(graph: EditedGraph) -> None:
    """The zero points of one weight are one instead of zero."""
    node = graph.linear(LAYER, OUT)
    name = node.input[3]
    shared = graph.constant(name)
    graph.rewire(node, 3, graph.new_constant("planted_zero_point", shared + shared.dtype.type(1)))


def _scaling(graph: EditedGraph, scale: str) -> list[onnx.NodeProto]:
    """The nodes that apply the scale of a weight, and that of its activations, to a product."""
    products = graph.readers(scale)
    return [*products, *(each for node in products for each in graph.readers(node.output[0]))]


def _attribute(node: onnx.NodeProto, name: str) -> int:
    return next(int(each.i) for each in node.attribute if each.name == name)
