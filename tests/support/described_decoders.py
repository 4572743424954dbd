"""Descriptions of decoders by their inputs, outputs and a few nodes; nothing of them runs."""

from isomorph.core.model import Constant, Graph, Model, Node, OutputOrder, TensorSpec


def spec(name, shape, dtype="float32"):
    return TensorSpec(name=name, dtype=dtype, shape=shape)


def node(op, inputs, output, **attributes):
    return Node(
        name=f"n:{output}", op=op, native_op=op, inputs=tuple(inputs), outputs=(output,),
        attributes=attributes,
    )  # fmt: skip


def model(inputs, outputs, nodes=(), order=OutputOrder.POSITIONAL, constants=None):
    specs = (*inputs, *outputs)
    graph = Graph(
        name="g", inputs=tuple(inputs), outputs=tuple(outputs), nodes=tuple(nodes),
        tensors={each.name: each for each in specs}, constants=constants or {}, framework="onnx",
    )  # fmt: skip
    return Model(framework="onnx", location="m", digest="", graph=graph, output_order=order)


def words(rows, width=8):
    """A table of words, and the node that selects from it."""
    table = Constant(name="words", dtype="float32", shape=(rows, width), digest="", value_digest="")
    return {"words": table}, node("Gather", ["words", "input_ids"], "x", axis=0)
