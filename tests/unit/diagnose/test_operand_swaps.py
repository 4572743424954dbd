"""Inputs and outputs of a node that could stand in each other's place."""

from isomorph.core.model import Constant, Graph, Node, TensorSpec
from isomorph.diagnose.operand_swaps import exchanges, outputs_exchanged


def node(name, inputs, outputs):
    return Node(
        name=name, op="Op", native_op="Op", inputs=tuple(inputs.split()),
        outputs=tuple(outputs.split()),
    )  # fmt: skip


def graph(*nodes, outputs="", **shapes):
    constants = {
        name: Constant(name=name, dtype="float32", shape=shape, digest="", value_digest="")
        for name, shape in shapes.items()
        if name.isupper()
    }
    specs = {
        name: TensorSpec(name=name, dtype="float32", shape=shape)
        for name, shape in shapes.items()
        if not name.isupper()
    }
    bound = tuple(TensorSpec(name=each, dtype="float32", shape=None) for each in outputs.split())
    return Graph(
        name="g", inputs=(), outputs=bound, nodes=nodes, tensors=specs, constants=constants
    )


def test_every_two_inputs_of_one_shape_are_exchanged():
    norm = node("n", "x S B M", "y")
    made = graph(norm, x=(2, 4), S=(4,), B=(4,), M=(4,))
    assert list(exchanges(made, norm)) == [
        ("x", "B", "S", "M"), ("x", "M", "B", "S"), ("x", "S", "M", "B"),
    ]  # fmt: skip


def test_other_shapes_unknown_ones_and_one_tensor_twice_are_not():
    for inputs, shapes in (
        ("x W", {"x": (2,), "W": (3,)}),
        ("x z", {"x": None, "z": None}),
        ("x unknown", {"x": (2,)}),
        ("x x", {"x": (2,)}),
    ):
        one = node("n", inputs, "y")
        assert not list(exchanges(graph(one, **shapes), one))


def test_the_readers_of_two_outputs_read_the_other_one():
    split = node("split", "x", "a b")
    made = graph(split, node("left", "a c", "l"), node("right", "b a", "r"), outputs="l r")
    (((left, right), edits),) = outputs_exchanged(made, split)
    assert (left, right) == (0, 1)
    assert {(edit.node, edit.index, edit.tensor) for edit in edits} == {
        ("left", 0, "b"), ("right", 0, "a"), ("right", 1, "b"),
    }  # fmt: skip


def test_an_output_of_the_model_and_what_nobody_reads_stay():
    split = node("split", "x", "a b")
    reader = node("left", "a", "l")
    assert not list(outputs_exchanged(graph(split, reader, outputs="b l"), split))
    assert not list(outputs_exchanged(graph(split, outputs="l"), split))
