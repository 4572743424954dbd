"""Which nodes are worth a probe: those with an attribute that no node of the other side has."""

import numpy as np
import pytest

from isomorph.core.model import Constant, Graph, Model, Node
from isomorph.localize.attribute_diff import unmatched_nodes
from isomorph.localize.probes import edge_values


def model(framework, *nodes, constants=()):
    stored = {
        name: Constant(name=name, dtype="float32", shape=(), digest="", value_digest="",
                       values=(value,))
        for name, value in constants
    }  # fmt: skip
    graph = Graph(name="g", inputs=(), outputs=(), nodes=nodes, tensors={}, constants=stored)
    return Model(framework=framework, location="", digest="", graph=graph)


def node(op, name="n", inputs=("x",), **attributes):
    return Node(name=name, op=op, native_op=op, inputs=inputs, outputs=("y",),
                attributes=attributes)  # fmt: skip


def test_other_names_for_the_same_numbers_are_alike():
    left = model("pytorch", node("LeakyRelu", negative_slope=0.1, inplace=False))
    right = model("onnx", node("LeakyRelu", alpha=0.10000000149))
    assert not unmatched_nodes(left, right)
    assert not unmatched_nodes(right, left)


def test_a_bound_is_the_same_as_an_attribute_or_as_a_constant():
    left = model("pytorch", node("Clip", min=0, max=6.0))
    right = model("onnx", node("Clip", inputs=("x", "low", "high")),
                  constants=(("low", 0.0), ("high", 6.0)))  # fmt: skip
    assert not unmatched_nodes(left, right)
    other = model("onnx", node("Clip", inputs=("x", "low", "high")),
                  constants=(("low", 0.0), ("high", 8.0)))  # fmt: skip
    assert [each.op for each in unmatched_nodes(other, left)] == ["Clip"]


def test_one_too_many_is_unlike():
    once = model("onnx", node("Relu", "a"))
    twice = model("onnx", node("Relu", "a"), node("Relu", "b"))
    assert [each.name for each in unmatched_nodes(twice, once)] == ["b"]
    assert not unmatched_nodes(once, twice)


@pytest.mark.parametrize(("framework", "found"), [("onnx", 1), ("pytorch", 0)])
def test_smooth_operators_are_compared_only_in_one_language(framework, found):
    left = model("onnx", node("Conv", strides=(2, 2)))
    right = model(framework, node("Conv", stride=(1, 1)))
    assert len(unmatched_nodes(left, right)) == found


def test_edge_values_change_floats_and_flip_truths():
    values = {"f": np.ones(5), "b": np.array([True]), "i": np.array([3])}
    kinds = dict(edge_values(values, seed=0))
    assert not kinds["negated"]["b"][0]
    assert np.array_equal(kinds["negated"]["f"], -np.ones(5))
    assert all(given["i"][0] == 3 for given in kinds.values())
    assert np.max(np.abs(kinds["between -1000 and 1000"]["f"])) == 1000.0
    again = dict(edge_values(values, seed=0))
    assert all(np.array_equal(given["f"], again[kind]["f"]) for kind, given in kinds.items())
