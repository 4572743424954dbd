"""What the rules of lint see of a model: every node, what depends on inputs, declared types."""

from dataclasses import replace

from isomorph.core.lint import every_node
from isomorph.core.model import Graph
from isomorph.core.rule_examples import constant, linted_model, node, spec


def graph(*nodes):
    return Graph(name="g", inputs=(), outputs=(), nodes=nodes, tensors={}, constants={})


def test_nodes_inside_branches_at_any_depth_are_seen():
    inner = node("Exp", out="e")
    middle = replace(node("If", out="m"), bodies={"then": graph(inner)})
    outer = replace(node("Loop", out="o"), bodies={"body": graph(middle, node("Neg", out="n"))})
    assert [each.op for each in every_node(graph(outer, node("Relu")))] == [
        "Loop", "If", "Exp", "Neg", "Relu",
    ]  # fmt: skip


def test_what_depends_on_an_input_moves_and_what_follows_from_constants_does_not():
    made = linted_model(
        node("Neg", "w", out="c"),
        node("Relu", "x", out="r"),
        node("Add", "r", "c", out="y"),
        node("RandomNormal", out="random"),
        inputs=(spec("x"),),
        constants=(constant("w"),),
    )
    moving = made.moving
    assert {"x", "r", "y", "random"} <= moving
    assert not {"w", "c"} & moving


def test_the_type_of_a_tensor_is_the_declared_one():
    made = linted_model(
        node("Relu", "x", out="y"), inputs=(spec("x", "float16"),), constants=(constant("w"),)
    )
    assert made.dtype("x") == "float16"
    assert made.dtype("w") == made.model.graph.constants["w"].dtype
    assert made.dtype("nothing") is None
