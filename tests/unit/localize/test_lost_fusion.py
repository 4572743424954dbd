"""A node that lost its built-in activation is named, not the next one that reads its bare value."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import isomorph
from tflite_building import Building

RANDOM = np.random.default_rng(8)
X = RANDOM.standard_normal((4, 6)).astype(np.float32)
FIRST = RANDOM.standard_normal((9, 6)).astype(np.float32)
FACTORS = RANDOM.standard_normal(9).astype(np.float32)
LAST = RANDOM.standard_normal((5, 9)).astype(np.float32)
NONE, RELU = 0, 1


def _saved(path, nodes, **weights):
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 6])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 5])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    onnx.save(model, path)
    return path


def _reference(path):
    return _saved(
        path,
        [
            helper.make_node("Gemm", ["x", "w"], ["a"], name="first", transB=1),
            helper.make_node("Relu", ["a"], ["r"], name="relu"),
            helper.make_node("Mul", ["r", "f"], ["m"], name="mul"),
            helper.make_node("Gemm", ["m", "v"], ["y"], name="last", transB=1),
        ],
        w=FIRST,
        f=FACTORS,
        v=LAST,
    )


def _candidate(path, fused):
    building = Building()
    graph = building.graph()
    x, a, m, y = (
        graph.tensor(name, shape)
        for name, shape in (("x", (4, 6)), ("a", (4, 9)), ("m", (4, 9)), ("y", (4, 5)))
    )
    w, f, v = (
        graph.tensor(name, value.shape, value=value)
        for name, value in (("w", FIRST), ("f", FACTORS), ("v", LAST))
    )
    graph.op("FULLY_CONNECTED", [x, w, -1], [a], "FullyConnected", fusedActivationFunction=fused)
    graph.op("MUL", [a, f], [m], "Mul")
    graph.op("FULLY_CONNECTED", [m, v, -1], [y], "FullyConnected")
    graph.ends([x], [y])
    path.write_bytes(building.data())
    return path


def test_with_its_activation_it_is_the_same(tmp_path):
    pair = _reference(tmp_path / "r.onnx"), _candidate(tmp_path / "c.tflite", RELU)
    assert isomorph.check(*pair, inputs={"x": X}, in_process=True).verdict == "equivalent"


def test_without_it_the_node_itself_is_named(tmp_path):
    pair = _reference(tmp_path / "r.onnx"), _candidate(tmp_path / "c.tflite", NONE)
    report = isomorph.check(*pair, inputs={"x": X}, in_process=True)
    faulty = [finding for finding in report.findings if finding.code == "GUILTY_NODE"]
    assert [finding.node for finding in faulty] == ["FULLY_CONNECTED:0"]
    assert faulty[0].cause == "attribute"
    assert "RELU" in faulty[0].summary


def _biased_reference(path):
    return _saved(
        path,
        [
            helper.make_node("MatMul", ["x", "w"], ["a"], name="first"),
            helper.make_node("Add", ["a", "b"], ["s"], name="bias"),
            helper.make_node("Tanh", ["s"], ["t"], name="tanh"),
            helper.make_node("Gemm", ["t", "v"], ["y"], name="last", transB=1),
        ],
        w=FIRST.T.copy(),
        b=FACTORS,
        v=LAST,
    )


def test_a_node_that_lost_its_bias_is_named_and_not_the_one_behind_it(tmp_path):
    building = Building()
    graph = building.graph()
    x, a, t, y = (
        graph.tensor(name, shape)
        for name, shape in (("x", (4, 6)), ("a", (4, 9)), ("t", (4, 9)), ("y", (4, 5)))
    )
    w, b, v = (
        graph.tensor(name, value.shape, value=value)
        for name, value in (("w", FIRST), ("b", 0.0 * FACTORS), ("v", LAST))
    )
    graph.op("FULLY_CONNECTED", [x, w, b], [a], "FullyConnected")
    graph.op("TANH", [a], [t])
    graph.op("FULLY_CONNECTED", [t, v, -1], [y], "FullyConnected")
    graph.ends([x], [y])
    candidate = tmp_path / "c.tflite"
    candidate.write_bytes(building.data())
    reference = _biased_reference(tmp_path / "r.onnx")
    report = isomorph.check(reference, candidate, inputs={"x": X}, in_process=True)
    faulty = [finding for finding in report.findings if finding.code == "GUILTY_NODE"]
    assert [finding.node for finding in faulty] == ["FULLY_CONNECTED:0"]
    assert faulty[0].cause == "weight"
