"""A function out of a library as a graph of its own.

Inside a FunctionDef a tensor is called ``node:argument:index``, after the operator's declaration;
in a graph it is ``node:k``. TensorFlow's own converter wants every nested function registered
with the process first, so it is of no use for a file that is only being read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from isomorph.frameworks.tensorflow.program import output_sizes, tensor_name

Signatures = Mapping[str, Any]
"""The declarations of the library's own functions, which may be called as operators."""


def body_of(function: Any, signatures: Signatures) -> tuple[Any, list[str], list[str]]:  # noqa: ANN401
    """The graph, the names of its inputs, and the tensors it returns."""
    body = tf.compat.v1.GraphDef()
    body.versions.producer = tf.version.GRAPH_DEF_VERSION
    inputs = [argument.name for argument in function.signature.input_arg]
    for place, argument in enumerate(function.signature.input_arg):
        _add_input(body, argument, function.arg_attr.get(place))
    offsets = {node.name: _offsets(node, signatures) for node in function.node_def}
    for node in function.node_def:
        copy = body.node.add()
        copy.CopyFrom(node)
        for place, reference in enumerate(node.input):
            copy.input[place] = _flat(reference, offsets)
    returned = [function.ret[argument.name] for argument in function.signature.output_arg]
    return body, inputs, [tensor_name(_flat(reference, offsets)) for reference in returned]


def _add_input(body: Any, argument: Any, attributes: Any) -> None:  # noqa: ANN401
    node = body.node.add(name=argument.name, op="Placeholder")
    node.attr["dtype"].type = argument.type
    if attributes is None:
        return
    shapes = attributes.attr["_output_shapes"].list.shape if attributes.attr else ()
    if shapes:
        node.attr["shape"].shape.CopyFrom(shapes[0])


def _offsets(node: Any, signatures: Signatures) -> dict[str, int]:  # noqa: ANN401
    """Where each declared output of the operator begins among its tensors."""
    declared = signatures.get(node.op) or op_def_registry.get(node.op)
    offsets: dict[str, int] = {}
    begin = 0
    for name, size in () if declared is None else output_sizes(node, declared):
        offsets[name] = begin
        begin += size
    return offsets


def _flat(reference: str, offsets: Mapping[str, Mapping[str, int]]) -> str:
    name, _, rest = reference.partition(":")
    if reference.startswith("^") or name not in offsets:
        return tensor_name(reference)
    argument, _, index = rest.partition(":")
    if not index:
        return tensor_name(reference)
    return tensor_name(f"{name}:{offsets[name].get(argument, 0) + int(index)}")
