"""The neutral description of an ML program."""

from __future__ import annotations

import numpy as np

from isomorph.core.digest import constant_of
from isomorph.core.model import Constant, Graph, Node, Source, TensorSpec
from isomorph.frameworks.coreml.lowering import LoweredGraph, LoweredNode
from isomorph.frameworks.coreml.program import MilType


def describe(graph: LoweredGraph, name: str) -> Graph:
    """The main block with its bodies."""
    return _graph(graph, name, "")


def spec_of(name: str, declared: MilType) -> TensorSpec:
    """What is declared of one tensor."""
    return TensorSpec(name=name, dtype=declared.dtype, shape=declared.shape, kind=declared.kind)


def _graph(graph: LoweredGraph, name: str, prefix: str) -> Graph:
    specs = {key: spec_of(key, declared) for key, declared in graph.types.items()}
    constants = {key: _constant(graph, key, body=bool(prefix)) for key in graph.constants}
    for key, constant in constants.items():
        specs[key] = TensorSpec(name=key, dtype=constant.dtype, shape=constant.shape)
    return Graph(
        name=name,
        inputs=tuple(specs[key] for key in graph.inputs),
        outputs=tuple(specs[key] for key in graph.outputs if key in specs),
        nodes=tuple(_node(each, prefix) for each in graph.nodes),
        tensors=specs,
        constants=constants,
        framework="coreml",
    )


def _constant(graph: LoweredGraph, name: str, *, body: bool) -> Constant:
    return constant_of(name, np.asarray(graph.array(name)), body=body)


def _node(node: LoweredNode, prefix: str) -> Node:
    name, meaning = f"{prefix}{node.name}", node.meaning
    outputs = tuple(name for name, _ in node.operation.outputs)
    return Node(
        name=name,
        op=meaning.op,
        native_op=node.operation.type,
        inputs=meaning.inputs,
        outputs=outputs,
        attributes=dict(meaning.attributes),
        bodies={
            word: _graph(body, word, f"{name}/{word}#0/") for word, body in node.bodies.items()
        },
        source=Source(text=outputs[0]) if outputs and outputs[0] != node.name else None,
    )
