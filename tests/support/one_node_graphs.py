"""Descriptions of graphs with one node that reads stored numbers."""

from isomorph.core.model import Constant, Graph, Node


def stored(name, *values):
    shape = (len(values),)
    return Constant(
        name=name, dtype="int32", shape=shape, digest=name, value_digest=name, values=values
    )


def made(op, native, *constants, **attributes):
    names = ("x", *(each.name for each in constants))
    node = Node(
        name=native, op=op, native_op=native, inputs=names, outputs=("y",), attributes=attributes
    )
    graph = Graph(
        name="g",
        inputs=(),
        outputs=(),
        nodes=(node,),
        tensors={},
        constants={each.name: each for each in constants},
        framework="tflite" if native.isupper() else "onnx",
    )
    return graph, node
