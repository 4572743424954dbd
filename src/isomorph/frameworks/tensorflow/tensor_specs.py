"""Dtypes and shapes of every tensor, by TensorFlow's own shape inference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from isomorph.frameworks.tensorflow.attributes import dtype_name
from isomorph.frameworks.tensorflow.program import Spec, tensor_name

_LARGE = 16 << 10
"""Bytes of a constant that can only be a weight, and is not worth copying to learn its shape."""


def unknown_ops(graph_def: Any) -> dict[str, list[str]]:  # noqa: ANN401
    """Operators that this TensorFlow does not have, each with the nodes that use it."""
    there = {function.signature.name for function in graph_def.library.function}
    bodies = (node for function in graph_def.library.function for node in function.node_def)
    found: dict[str, list[str]] = {}
    for node in (*graph_def.node, *bodies):
        if node.op not in there and op_def_registry.get(node.op) is None:
            found.setdefault(node.op, []).append(node.name)
    return found


def read_specs(graph_def: Any) -> tuple[dict[str, Spec], dict[str, int]]:  # noqa: ANN401
    """What is known of every tensor, and TensorFlow's number of its dtype, both by name.

    Both are empty where the graph holds operators that TensorFlow does not know.
    """
    specs: dict[str, Spec] = {}
    numbers: dict[str, int] = {}
    if unknown_ops(graph_def):
        return specs, numbers
    with tf.Graph().as_default() as graph:
        tf.graph_util.import_graph_def(_without_weights(graph_def), name="")
    for operation in graph.get_operations():
        for tensor in operation.outputs:
            name, number = tensor_name(tensor.name), tensor.dtype.base_dtype.as_datatype_enum
            numbers[name] = number
            specs[name] = Spec(
                dtype=dtype_name(number),
                shape=None if tensor.shape.rank is None else tuple(tensor.shape.as_list()),
                kind="other" if tensor.dtype in {tf.resource, tf.variant} else "tensor",
            )
    return specs | _lists(graph_def, specs), numbers


def _without_weights(graph_def: Any) -> Any:  # noqa: ANN401
    """A copy in which large constants are inputs: no shape depends on what they hold."""
    light = tf.compat.v1.GraphDef()
    light.versions.CopyFrom(graph_def.versions)
    light.library.CopyFrom(graph_def.library)
    for node in graph_def.node:
        copy = light.node.add()
        if node.op != "Const" or node.ByteSize() < _LARGE:
            copy.CopyFrom(node)
            continue
        value = node.attr["value"].tensor
        copy.name, copy.op = node.name, "Placeholder"
        copy.attr["dtype"].type = value.dtype
        copy.attr["shape"].shape.CopyFrom(value.tensor_shape)
    return light


def _lists(graph_def: Any, specs: Mapping[str, Spec]) -> dict[str, Spec]:  # noqa: ANN401
    """TensorLists, whose elements are named by the nodes that write or read them."""
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
