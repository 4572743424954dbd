"""Inputs that a node lacks are connected to what its counterpart reads."""

from types import SimpleNamespace

import numpy as np

from isomorph.core.model import Constant, Graph, Node, TensorSpec
from isomorph.core.patch import AddConstant, SetInput
from isomorph.diagnose.missing_inputs import connections

VALUES = {"B": np.ones(4), "W": np.ones((4, 4))}


def node(op, inputs, output="y"):
    return Node(name=f"make_{output}", op=op, native_op=op, inputs=tuple(inputs), outputs=(output,))


def graph(*nodes, constants=(), inputs=()):
    stored = {
        name: Constant(
            name=name, dtype="float16", shape=VALUES[name].shape, digest="", value_digest=""
        )
        for name in constants
    }
    specs = tuple(TensorSpec(name=name, dtype="float32", shape=None) for name in inputs)
    return Graph(name="g", inputs=specs, outputs=(), nodes=nodes, tensors={}, constants=stored)


def patches(candidate, reference, **tensors):
    context = SimpleNamespace(
        candidate=candidate,
        reference=reference,
        counterparts=reference.nodes[-1:],
        constant=lambda graph, name: VALUES.get(name) if name in graph.constants else None,
        matching_tensor=tensors.get,
    )
    return list(connections(context, candidate.nodes[-1]))


def places(found):
    return [
        (edit.index, edit.tensor)
        for patch in found
        for edit in patch.edits
        if isinstance(edit, SetInput)
    ]


def test_a_bias_that_the_node_lacks_is_stored_in_its_own_type_and_connected():
    candidate = graph(node("Gemm", ["x", "W"]), constants=["W"])
    reference = graph(node("Gemm", ["a", "W", "B"]), constants=["W", "B"])
    (patch,) = patches(candidate, reference)
    add, connect = patch.edits
    assert isinstance(add, AddConstant)
    assert add.value.dtype == np.float16
    assert np.array_equal(add.value, VALUES["B"])
    assert (connect.node, connect.index, connect.tensor) == ("make_y", 2, add.name)


def test_a_constant_of_another_operator_is_not_taken():
    candidate = graph(node("Gemm", ["x", "W"]), constants=["W"])
    reference = graph(node("Conv", ["a", "W", "B"]), constants=["W", "B"])
    assert not patches(candidate, reference)


def test_the_tensor_that_the_counterpart_reads_is_tried_on_every_input_of_data():
    candidate = graph(node("Add", ["x", "z"]))
    reference = graph(node("Add", ["a", "b"]))
    assert places(patches(candidate, reference, a="x", b="other")) == [(0, "other"), (1, "other")]
    assert places(patches(candidate, reference, a="x", b="z")) == []


def test_an_empty_place_comes_first_and_stored_or_quantized_inputs_stay():
    quantized = node("DequantizeLinear", ["q"], "d")
    candidate = graph(
        quantized, node("LSTM", ["x", "W", "d", "", "", "", ""]), constants=["W"], inputs=["x"]
    )
    reference = graph(node("LSTM", ["a", "W", "r", "", "", "h"]))
    found = places(patches(candidate, reference, a="x", h="state"))
    assert found == [(3, "state"), (4, "state"), (5, "state"), (6, "state"), (7, "state"),
                     (0, "state")]  # fmt: skip


def test_where_nothing_is_known_an_empty_place_is_given_an_input_of_the_model():
    candidate = graph(node("GRU", ["x", "W", "W"]), constants=["W"], inputs=["x", "lengths"])
    reference = graph(node("GRU", ["a"]))
    assert (4, "lengths") in places(patches(candidate, reference, a="x"))
    assert (4, "x") not in places(patches(candidate, reference, a="x"))
