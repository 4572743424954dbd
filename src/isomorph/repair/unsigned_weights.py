"""Signed weights stored unsigned, so that products of bytes saturate on no CPU.

A weight moved up by 128 together with its zero point stands for the same numbers: what the model
means does not change by a single bit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.messages import message
from isomorph.core.patch import AddConstant, Patch, SetInput
from isomorph.core.report import Fact

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node
    from isomorph.core.report import Finding
    from isomorph.sessions.model_handle import ModelHandle

# For each operator, where its stored weight and the zero point of that stand.
_PLACES = {
    "MatMulInteger": (1, 3),
    "ConvInteger": (1, 3),
    "DynamicQuantizeMatMul": (1, 3),
    "MatMulIntegerToFloat": (1, 5),
    "QLinearMatMul": (3, 5),
    "QLinearConv": (3, 5),
    "QGemm": (3, 5),
    "DequantizeLinear": (0, 2),
}
_PRODUCTS = frozenset({"MatMul", "Gemm", "Conv"})
_INTEGER = frozenset(_PLACES) - {"DequantizeLinear"}
_SHIFT = 128


def unsigned_weights(
    candidate: ModelHandle, findings: Sequence[Finding]
) -> tuple[Patch, Finding] | None:
    """The patch for all weights of products of bytes, if a finding reports saturated sums."""
    finding = next((each for each in findings if each.fact(Fact.SATURATED_SUMS) is not None), None)
    graph = candidate.model.graph
    nodes = list(_signed(graph))
    if finding is None or not nodes:
        return None
    names = {name: _free(graph, name) for node in nodes for name in _stored(node)}
    values = candidate.oracle().run({}, list(names))
    added = [
        AddConstant(
            name=new, value=(np.asarray(values[old]).astype(np.int16) + _SHIFT).astype("u1")
        )
        for old, new in names.items()
    ]
    read = [
        SetInput(node=node.name, index=place, tensor=names[node.inputs[place]])
        for node in nodes
        for place in _PLACES[node.op]
    ]
    summary = message("PATCH.unsigned", nodes=_count(nodes))
    return Patch(summary=summary, edits=(*added, *read)), finding


def _signed(graph: Graph) -> Iterator[Node]:
    """Nodes that read a stored weight of signed bytes for a product, and state its zero point."""
    read = {name for node in graph.nodes if node.op in _PRODUCTS for name in node.inputs}
    for node in graph.nodes:
        places = _PLACES.get(node.op)
        if places is None or max(places) >= len(node.inputs):
            continue
        weight, zero = (graph.constants.get(name) for name in _stored(node))
        if weight is None or zero is None or {weight.dtype, zero.dtype} != {"int8"}:
            continue
        if math.prod(weight.shape) > 1 and (node.op in _INTEGER or node.outputs[0] in read):
            yield node


def _stored(node: Node) -> tuple[str, str]:
    weight, zero = _PLACES[node.op]
    return node.inputs[weight], node.inputs[zero]


def _free(graph: Graph, name: str) -> str:
    """A name that nothing has yet."""
    taken = {*graph.constants, *graph.tensors, *(t for n in graph.nodes for t in n.outputs)}
    found = f"{name}_unsigned"
    while found in taken:
        found += "_"
    return found


def _count(nodes: Sequence[Node]) -> str:
    return f"node {nodes[0].name!r}" if len(nodes) == 1 else f"{len(nodes)} nodes"
