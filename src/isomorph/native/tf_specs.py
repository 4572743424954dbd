"""Dtypes and shapes of every tensor, by TensorFlow's own shape inference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from isomorph.native.tf_attributes import dtype_name
from isomorph.native.tf_program import Spec, tensor_name


def unknown_ops(graph_def: Any) -> dict[str, list[str]]:  # noqa: ANN401
    """Operators that this TensorFlow does not have, each with the nodes that use it."""
    there = {function.signature.name for function in graph_def.library.function}
    bodies = (node for function in graph_def.library.function for node in function.node_def)
    found: dict[str, list[str]] = {}
    for node in (*graph_def.node, *bodies):
        if node.op not in there and op_def_registry.get(node.op) is None:
            found.setdefault(node.op, []).append(node.name)
    return found


def read_specs(graph_def: Any) -> dict[str, Spec]:  # noqa: ANN401
    """By tensor name; empty where the graph holds operators that TensorFlow does not know."""
    graph = _imported(graph_def)
    if graph is None:
        return {}
    specs: dict[str, Spec] = {}
    for operation in graph.get_operations():
        for tensor in operation.outputs:
            dtype = tensor.dtype.as_datatype_enum
            specs[tensor_name(tensor.name)] = Spec(
                dtype=dtype_name(dtype),
                shape=None if tensor.shape.rank is None else tuple(tensor.shape.as_list()),
                kind="other" if tensor.dtype in {tf.resource, tf.variant} else "tensor",
            )
    return specs | _lists(graph_def, specs)


def native_dtypes(graph_def: Any) -> dict[str, int]:  # noqa: ANN401
    """TensorFlow's number of every tensor's dtype."""
    graph = _imported(graph_def)
    return {
        tensor_name(tensor.name): tensor.dtype.base_dtype.as_datatype_enum
        for operation in (() if graph is None else graph.get_operations())
        for tensor in operation.outputs
    }


def _imported(graph_def: Any) -> Any:  # noqa: ANN401
    if unknown_ops(graph_def):
        return None
    with tf.Graph().as_default() as graph:
        tf.graph_util.import_graph_def(graph_def, name="")
    return graph


def _lists(graph_def: Any, specs: Mapping[str, Spec]) -> dict[str, Spec]:  # noqa: ANN401
    """TensorLists: a variant says nothing, but what makes or reads it names its elements."""
    variants = {name for name, spec in specs.items() if spec.dtype == "variant"}
    known: dict[str, str] = {}
    same: list[tuple[str, str]] = []
    for node in graph_def.node:
        around = [tensor_name(each) for each in node.input] + [node.name]
        if "element_dtype" in node.attr:
            dtype = dtype_name(node.attr["element_dtype"].type)
            known |= {name: dtype for name in around if name in variants}
        elif node.op in {"While", "StatelessWhile"}:
            outputs = [tensor_name(f"{node.name}:{k}") for k in range(len(node.input))]
            same += list(zip(around[:-1], outputs, strict=True))
        elif node.op == "Identity":
            same.append((around[0], node.name))
    for _ in range(2):  # a list may go through several loops; two sweeps see both directions
        for one, other in (*same, *reversed(same)):
            found = known.get(one) or known.get(other)
            if one in variants and found is not None:
                known[one] = known[other] = found
    return {name: Spec(dtype=dtype, shape=None, kind="sequence") for name, dtype in known.items()}
