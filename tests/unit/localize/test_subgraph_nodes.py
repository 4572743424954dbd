"""The nodes of a body that was cut out are known by their full names."""

from isomorph.core.model import Graph, Node, Source, TensorSpec
from isomorph.localize.subgraph_nodes import subgraph_names


def node(name, op, inputs, outputs, **more):
    return Node(
        name=name, op=op, native_op=op, inputs=tuple(inputs.split()),
        outputs=tuple(outputs.split()), **more,
    )  # fmt: skip


def graph(nodes, outputs):
    specs = tuple(TensorSpec(name=name, dtype="float32", shape=None) for name in outputs.split())
    return Graph(name="g", inputs=(), outputs=specs, nodes=tuple(nodes), tensors={}, constants={})


LINE = Source(file="net.py", line=3)
BODY = graph(
    [
        node("loop/body#0/relu", "Relu", "x", "loop/body#0/r", source=LINE),
        node("loop/body#0/unused", "Exp", "x", "loop/body#0/u"),
        node("loop/body#0/tanh", "Tanh", "loop/body#0/r", "loop/body#0/y"),
    ],
    "loop/body#0/y",
)
HOLDER = node("loop", "Loop", "n", "out", bodies={"body": BODY})


def names(*nodes, outputs="t"):
    return subgraph_names(graph(nodes, outputs), HOLDER, "body")


def test_nodes_that_were_renamed_are_known_by_the_order_of_their_operators():
    found = names(node("n0", "Relu", "a", "b"), node("n1", "Tanh", "b", "t"))
    assert found.node("n0") == "loop/body#0/relu"
    assert found.node("n1") == "loop/body#0/tanh"
    assert found.tensor("t") == "y"
    assert found.source("n0") == LINE
    assert found.in_part("loop/body#0/tanh") == "n1"


def test_where_the_operators_differ_names_alone_count():
    found = names(node("tanh", "Tanh", "b", "t"), node("relu", "Erf", "t", "z"))
    assert found.node("tanh") == "loop/body#0/tanh"
    assert found.node("new") == "loop/body#0/new"
    assert found.source("relu") == LINE
    assert found.source("new") is None
    assert found.tensor("elsewhere") == "elsewhere"


def test_nodes_of_bodies_inside_keep_their_path():
    found = names(node("n0", "Relu", "a", "b"), node("n1", "Tanh", "b", "t"))
    assert found.node("n1/then#0/exp") == "loop/body#0/tanh/then#0/exp"
    assert found.in_part("loop/body#0/tanh/then#0/exp") == "n1/then#0/exp"
    assert found.node("unknown/then#0/exp") == "loop/body#0/unknown/then#0/exp"


def test_a_node_outside_of_the_body_is_not_part_of_it():
    found = names(node("n0", "Relu", "a", "b"), node("n1", "Tanh", "b", "t"))
    assert found.in_part("other/relu") is None
    assert found.in_part("loop/body#0/unused") == "unused"
