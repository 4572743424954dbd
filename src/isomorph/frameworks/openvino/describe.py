"""The neutral description of an OpenVINO model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.digest import constant_of
from isomorph.core.model import Graph, Node, Quantization, Source, TensorSpec
from isomorph.frameworks.openvino.nodes import nodes_of
from isomorph.frameworks.openvino.weights import array_of

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.frameworks.openvino.nodes import IrNode
    from isomorph.frameworks.openvino.program import IrGraph, IrModel, Port

_BODY_NAMES = {"then_body": "then_branch", "else_body": "else_branch"}
"""Bodies as ONNX calls them."""


def describe(model: IrModel) -> Graph:
    """The main graph with its bodies."""
    return _graph(model, model.graph, "")


def _graph(model: IrModel, graph: IrGraph, prefix: str) -> Graph:
    specs = {port.name: _spec(port) for layer in graph.layers for port in layer.outputs}
    constants = {
        name: constant_of(name, array_of(model, layer), body=bool(prefix))
        for name, layer in graph.stored.items()
    }
    for name, constant in constants.items():
        specs[name] = TensorSpec(name=name, dtype=constant.dtype, shape=constant.shape)
    nodes = nodes_of(graph)
    return Graph(
        name=graph.name,
        inputs=tuple(specs[name] for name in graph.inputs),
        outputs=tuple(specs[name] for name in dict.fromkeys(graph.results)),
        nodes=tuple(_node(model, node, prefix) for node in nodes),
        tensors=specs,
        constants=constants,
        quantization=tuple(_quantization(model, graph, nodes)),
        framework="openvino",
    )


def _spec(port: Port) -> TensorSpec:
    return TensorSpec(name=port.name, dtype=port.dtype, shape=port.shape)


def _node(model: IrModel, node: IrNode, prefix: str) -> Node:
    name = f"{prefix}{node.name}"
    return Node(
        name=name,
        op=node.op,
        native_op=node.layer.type,
        inputs=node.inputs,
        outputs=tuple(port.name for port in node.outputs),
        attributes={key: value for key, value in node.attributes.items() if value is not None},
        bodies={
            body_name(key): _graph(model, body.graph, f"{name}/{body_name(key)}#0/")
            for key, body in node.layer.bodies.items()
        },
        source=Source(module=node.name.rpartition("/")[0] or None, text=node.name),
    )


def _quantization(
    model: IrModel, graph: IrGraph, nodes: tuple[IrNode, ...]
) -> Iterator[Quantization]:
    """The grids of stored integers, and those that FakeQuantize puts its tensor on."""
    stored = graph.stored
    for node in nodes:
        read = node.inputs if node.dequantizes else node.inputs[1:5]
        known = [array_of(model, stored[name]) for name in read if name in stored]
        if node.dequantizes:
            dtype = stored[node.inputs[0]].outputs[0].dtype
            yield _of_weights(node, known[1:], str(dtype))
        elif node.op == "FakeQuant" and len(known) == 4:
            yield _of_levels(node, [each.astype(np.float64) for each in known])


def _of_weights(node: IrNode, factors: list[Array], dtype: str) -> Quantization:
    if "block_size" in node.attributes:
        # The description has scales of whole slices; of blocks it states that there are some.
        return Quantization(tensor=node.inputs[0], dtype=dtype, scale=(), zero_point=())
    scale, zero = (each.astype(np.float64) for each in (*factors, np.zeros(1))[:2])
    points = np.broadcast_to(zero.reshape(-1), scale.size) if zero.size in {1, scale.size} else zero
    return Quantization(
        tensor=node.inputs[0],
        dtype=dtype,
        scale=_numbers(scale),
        zero_point=tuple(round(each) for each in points.reshape(-1)),
        axis=node.attributes["axis"] if scale.size > 1 else None,
    )


def _of_levels(node: IrNode, ends: list[Array]) -> Quantization:
    low, high = ends[2:]
    levels = int(node.attributes["levels"])
    scale = (high - low) / (levels - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        zero = np.nan_to_num(np.rint(-low / scale))
    shape = node.outputs[0].shape
    along = [k - scale.ndim for k, size in enumerate(scale.shape) if size > 1]
    axis = along[0] + (len(shape) if shape is not None else 0) if along else None
    return Quantization(
        tensor=node.outputs[0].name,
        dtype="uint8" if levels <= 256 else "uint16",
        scale=_numbers(scale),
        zero_point=tuple(int(each) for each in zero.reshape(-1)),
        axis=axis,
    )


def _numbers(array: Array) -> tuple[float, ...]:
    return tuple(float(each) for each in array.reshape(-1))


def body_name(key: str) -> str:
    """The name of a body in the description."""
    return _BODY_NAMES.get(key, key)
