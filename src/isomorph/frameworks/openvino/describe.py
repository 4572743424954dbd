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
    from isomorph.frameworks.openvino.program import IrGraph, IrModel, Layer, Port

_BODY_NAMES = {"then_body": "then_branch", "else_body": "else_branch"}
"""Bodies as ONNX calls them."""


def describe(model: IrModel) -> Graph:
    """The main graph with its bodies."""
    return _graph(model, model.graph, "")


def _graph(model: IrModel, graph: IrGraph, prefix: str) -> Graph:
    ports = [port for layer in graph.layers for port in layer.outputs]
    specs = {port.name: _spec(port) for port in ports}
    for layer in graph.layers:
        if layer.type == "Parameter" and "element_type" in layer.data:
            port = layer.outputs[0]
            specs[port.name] = _spec(port)
    constants = {
        layer.outputs[0].name: constant_of(
            layer.outputs[0].name, array_of(model, layer), body=bool(prefix)
        )
        for layer in graph.constants
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
            for key, body in node.bodies.items()
        },
        source=Source(module=node.name.rpartition("/")[0] or None, text=node.name),
    )


def _quantization(
    model: IrModel, graph: IrGraph, nodes: tuple[IrNode, ...]
) -> Iterator[Quantization]:
    """The grids of stored integers, and those that FakeQuantize puts its tensor on."""
    stored = {layer.outputs[0].name: layer for layer in graph.constants}
    for node in nodes:
        known = [stored.get(name) for name in node.inputs]
        if node.dequantizes and known[0] is not None and known[0].stored is not None:
            yield _of_weights(model, node, known, known[0].stored.dtype)
        elif node.op == "FakeQuant" and all(each is not None for each in known[1:5]):
            ends = [array_of(model, each).astype(np.float64) for each in known[1:5] if each]
            yield _of_levels(node, ends)


def _of_weights(
    model: IrModel, node: IrNode, known: list[Layer | None], dtype: str
) -> Quantization:
    scale = array_of(model, known[1]).astype(np.float64) if known[1] is not None else np.ones(1)
    zero = np.zeros(1)
    if len(known) > 2 and known[2] is not None:
        zero = array_of(model, known[2]).astype(np.float64)
    if "block_size" in node.attributes:
        # The description has scales of whole slices; of blocks it states that there are some.
        return Quantization(tensor=node.inputs[0], dtype=dtype, scale=(), zero_point=())
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
