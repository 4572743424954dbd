"""A repair that leaves nothing of the candidate hands the reference back."""

import numpy as np
import pytest

from isomorph.core.model import Constant, Graph, Node, TensorSpec
from isomorph.core.patch import AddConstant, AddNode, Patch
from isomorph.repair.whole_replacement import replaces_everything


def graph(nodes, weights=()):
    spec = {"dtype": "float32", "shape": (2,)}
    return Graph(
        name="g",
        tensors={},
        inputs=(TensorSpec(name="x", **spec),),
        outputs=(TensorSpec(name=nodes[-1].outputs[0], **spec),),
        nodes=tuple(nodes),
        constants={
            name: Constant(name=name, dtype="float32", shape=(2,), digest="", value_digest="")
            for name in weights
        },
    )


def chain(names, op="Relu", weight=""):
    reads = ["x", *names]
    return [
        Node(name=name, op=op, native_op=op, inputs=(before, *filter(None, [weight])),
             outputs=(name,))
        for before, name in zip(reads, names, strict=False)
    ]  # fmt: skip


def added(nodes, constants=()):
    edits = [AddConstant(name=name, value=np.ones(2, np.float32)) for name in constants]
    edits += [
        AddNode(name=node.name, op=node.op, inputs=node.inputs, outputs=node.outputs)
        for node in nodes
    ]
    return Patch(summary="", edits=tuple(edits))


SIX = tuple("abcdef")


def test_no_weight_of_the_candidate_is_left():
    nodes = chain(SIX, "Mul", "w")
    tail = Node(name="s", op="Softmax", native_op="Softmax", inputs=("f",), outputs=("s",))
    whole = graph([*nodes, tail], ["w"])
    assert replaces_everything(whole, [added(nodes[:3], ["w"]), added(nodes[3:])])
    assert not replaces_everything(whole, [added(nodes)])  # a weight of its own is read


@pytest.mark.parametrize(("kept", "everything"), [("Relu", False), ("Reshape", True)])
def test_without_weights_nodes_decide(kept, everything):
    nodes = chain(SIX)
    tail = Node(name="s", op=kept, native_op=kept, inputs=("f",), outputs=("s",))
    assert replaces_everything(graph([*nodes, tail]), [added(nodes)]) is everything


def test_a_few_nodes_may_be_all_that_there_are():
    nodes = chain(SIX[:4], "Mul", "w")
    assert not replaces_everything(graph(nodes, ["w"]), [added(nodes, ["w"])])
