"""Attributes of corresponding nodes that differ, and those that are only written otherwise."""

import pytest

from isomorph.core.model import Graph, Model, Node, TensorSpec
from isomorph.match.attributes import attribute_differences, first_difference


def model(*nodes, framework="onnx", shape=(2, 3, 4)):
    spec = TensorSpec(name="x", dtype="float32", shape=shape)
    graph = Graph(name="g", inputs=(spec,), outputs=(), nodes=nodes, tensors={"x": spec},
                  constants={})  # fmt: skip
    return Model(framework=framework, location="", digest="", graph=graph)


def node(op, name="n", bodies=None, **attributes):
    return Node(name=name, op=op, native_op=op, inputs=("x",), outputs=("y",),
                attributes=attributes, bodies=bodies or {})  # fmt: skip


def names(ref, cand):
    return [each.name for each in attribute_differences(ref, cand)]


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ({"axis": -1}, {"axis": 2}),
        ({"axes": [0, -1]}, {"axes": (0, 2)}),
        ({"alpha": 0.1}, {"alpha": 0.10000000149}),
        ({"mode": "Linear"}, {"mode": "linear"}),
        ({"to": 1}, {"to": 10}),
        ({"pads": [0, 0]}, {"pads": (0, 0)}),
    ],
)
def test_the_same_value_written_otherwise(one, two):
    assert not names(model(node("Op", **one)), model(node("Op", **two)))


@pytest.mark.parametrize("axis", [-1, 2])
def test_an_axis_counts_from_either_end_where_one_shape_is_unknown(axis):
    known = model(node("Softmax", axis=-1))
    assert not names(known, model(node("Softmax", axis=axis), shape=None))
    assert not names(model(node("Softmax", axis=axis), shape=None), known)
    assert names(known, model(node("Softmax", axis=1), shape=None)) == ["axis"]


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ({"axis": 1}, {"axis": 2}),
        ({"perm": [0, 1]}, {"perm": [1, 0]}),
        ({"alpha": 0.1}, {"alpha": 0.2}),
        ({"alpha": 0.0}, {"alpha": 0.2}),
        ({"mode": "constant"}, {"mode": "edge"}),
        ({"exclusive": 0}, {"exclusive": 1}),
    ],
)
def test_another_value(one, two):
    assert names(model(node("Op", **one)), model(node("Op", **two))) == [*one]


def test_nodes_of_one_operator_correspond_in_their_order():
    slopes = [node("LeakyRelu", f"n{each}", alpha=each) for each in (0.1, 0.2)]
    found = attribute_differences(model(*slopes), model(*slopes[::-1]))
    assert [(each.expected, each.actual) for each in found] == [(0.1, 0.2), (0.2, 0.1)]


def test_nodes_correspond_by_name_where_one_is_missing():
    ref = model(node("Elu", "a", alpha=1.0), node("Elu", "b", alpha=2.0))
    assert names(ref, model(node("Elu", "b", alpha=3.0))) == ["alpha"]
    assert not names(ref, model(node("Elu", "c", alpha=3.0)))


def test_numbers_of_two_frameworks_are_compared_by_their_meaning():
    torch = model(node("LeakyRelu", negative_slope=0.1, inplace=False), framework="pytorch")
    found = attribute_differences(torch, model(node("LeakyRelu", alpha=0.2)))
    assert [each.text for each in found] == [
        "attribute alpha of node 'n' differs (0.1 against 0.2)"
    ]
    assert not names(torch, model(node("LeakyRelu", alpha=0.1)))


def test_a_node_in_a_body_is_named_with_its_holder():
    def holder(alpha):
        body = model(node("LeakyRelu", "inner", alpha=alpha)).graph
        return node("If", "choose", {"then_branch": body})

    [found] = attribute_differences(model(holder(0.1)), model(holder(0.2)))
    assert (found.node.name, found.holder.name) == ("inner", "choose")
    assert first_difference(holder(0.2), holder(0.1)).name == "alpha"


def test_a_long_value_is_shown_by_its_first_difference():
    values = [float(each) for each in range(50)]
    other = [*values[:30], 99.0, *values[31:]]
    [found] = attribute_differences(model(node("Tree", w=values)), model(node("Tree", w=other)))
    assert found.values == "30 against 99"
