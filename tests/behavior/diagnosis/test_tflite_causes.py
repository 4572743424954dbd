"""Faults of TFLite files beside an ONNX reference, each diagnosed as what it is."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import isomorph
from isomorph.match.value_match import weight_arrangements
from tflite_building import Building

RANDOM = np.random.default_rng(12)
X = RANDOM.standard_normal((4, 6)).astype(np.float32)
WEIGHT = RANDOM.standard_normal((48, 6)).astype(np.float32)
FACTOR = RANDOM.uniform(0.5, 1.5, 48).astype(np.float32)
BIAS = RANDOM.standard_normal(48).astype(np.float32)
LAST = RANDOM.standard_normal((5, 48)).astype(np.float32)
ORDER = RANDOM.permutation(48)


def _reference(path, nodes, constants, shape):
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 6])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    onnx.save(model, path)
    return path


def _first(tmp_path, reference, building):
    candidate = tmp_path / "c.tflite"
    candidate.write_bytes(building.data())
    report = isomorph.check(reference, candidate, inputs={"x": X}, in_process=True)
    return next(finding for finding in report.findings if finding.code == "GUILTY_NODE")


def _scaled(tmp_path):
    nodes = [
        helper.make_node("Gemm", ["x", "w"], ["a"], name="first", transB=1),
        helper.make_node("Mul", ["a", "f"], ["m"], name="scale"),
        helper.make_node("Add", ["m", "b"], ["s"], name="shift"),
        helper.make_node("Tanh", ["s"], ["t"], name="tanh"),
        helper.make_node("Gemm", ["t", "v"], ["y"], name="last", transB=1),
    ]
    constants = {"w": WEIGHT, "f": FACTOR, "b": BIAS, "v": LAST}
    return _reference(tmp_path / "r.onnx", nodes, constants, [4, 5])


def _dense(stored):
    """``stored`` makes the first weight: from a graph and the values that it should hold."""
    building = Building()
    graph = building.graph()
    x, a, t, y = (
        graph.tensor(name, shape)
        for name, shape in (("x", (4, 6)), ("a", (4, 48)), ("t", (4, 48)), ("y", (4, 5)))
    )
    w = stored(graph, WEIGHT * FACTOR[:, None])
    b, v = (graph.tensor(n, value.shape, value=value) for n, value in (("b", BIAS), ("v", LAST)))
    graph.op("FULLY_CONNECTED", [x, w, b], [a], "FullyConnected")
    graph.op("TANH", [a], [t])
    graph.op("FULLY_CONNECTED", [t, v, -1], [y], "FullyConnected")
    graph.ends([x], [y])
    return building


def _in_bytes(graph, weight):
    scale = float(np.abs(weight).max() / 127)
    whole = np.rint(weight / scale)[ORDER]
    return graph.tensor("w", weight.shape, "int8", value=whole, scale=[scale], zero=[0])


def _in_float16(graph, weight):
    half = graph.tensor("h", weight.shape, "float16", value=weight[ORDER])
    whole = graph.tensor("w", weight.shape)
    graph.op("DEQUANTIZE", [half], [whole])
    return whole


@pytest.mark.parametrize("stored", [_in_bytes, _in_float16])
def test_a_folded_weight_of_lower_precision_in_another_order(tmp_path, stored):
    found = _first(tmp_path, _scaled(tmp_path), _dense(stored))
    assert found.node.startswith("FULLY_CONNECTED")
    assert found.cause == "weight"


def _too_large(graph, weight):
    scale = float(np.abs(weight).max() / 127)
    whole = np.rint(weight / scale)
    return graph.tensor("w", weight.shape, "int8", value=whole, scale=[1.4 * scale], zero=[0])


def test_a_scale_that_makes_every_weight_larger(tmp_path):
    found = _first(tmp_path, _scaled(tmp_path), _dense(_too_large))
    assert (found.node, found.cause) == ("FULLY_CONNECTED:0", "quantization")
    assert "1.4 times too large" in found.summary


def _padded(tmp_path):
    nodes = [
        helper.make_node("Pad", ["x", "p"], ["q"], name="pad"),
        helper.make_node("Gemm", ["q", "w"], ["y"], name="last", transB=1),
    ]
    constants = {"p": np.array([0, 2, 0, 1]), "w": RANDOM.standard_normal((5, 9)).astype("f")}
    return _reference(tmp_path / "r.onnx", nodes, constants, [4, 5]), constants["w"]


def test_pads_on_the_other_side_are_a_parameter(tmp_path):
    reference, weight = _padded(tmp_path)
    building = Building()
    graph = building.graph()
    x, q, y = (graph.tensor(n, s) for n, s in (("x", (4, 6)), ("q", (4, 9)), ("y", (4, 5))))
    pads = graph.tensor("pads", (2, 2), "int32", value=[[0, 0], [1, 2]])
    w = graph.tensor("w", weight.shape, value=weight)
    graph.op("PAD", [x, pads], [q], "Pad")
    graph.op("FULLY_CONNECTED", [q, w, -1], [y], "FullyConnected")
    graph.ends([x], [y])
    found = _first(tmp_path, reference, building)
    assert (found.node, found.cause) == ("PAD:0", "attribute")


def test_another_operator_in_its_place(tmp_path):
    nodes = [
        helper.make_node("Tanh", ["x"], ["t"], name="tanh"),
        helper.make_node("Max", ["x", "t"], ["m"], name="max"),
        helper.make_node("Gemm", ["m", "w"], ["y"], name="last", transB=1),
    ]
    reference = _reference(tmp_path / "r.onnx", nodes, {"w": WEIGHT}, [4, 48])
    building = Building()
    graph = building.graph()
    x, t, m = (graph.tensor(name, (4, 6)) for name in ("x", "t", "m"))
    y, w = graph.tensor("y", (4, 48)), graph.tensor("w", WEIGHT.shape, value=WEIGHT)
    graph.op("TANH", [x], [t])
    graph.op("MINIMUM", [x, t], [m])
    graph.op("FULLY_CONNECTED", [m, w, -1], [y], "FullyConnected")
    graph.ends([x], [y])
    found = _first(tmp_path, reference, building)
    assert (found.node, found.cause) == ("MINIMUM:1", "missing_op")
    assert "Min stands where the reference has Max" in found.summary


def test_a_weight_by_heads_becomes_one_matrix_in_either_order():
    weight = RANDOM.standard_normal((6, 3, 4))
    found = list(weight_arrangements(weight, (12, 6)))
    assert any(np.array_equal(each, weight.reshape(6, 12).T) for each in found)


def test_a_weight_before_an_activation_that_the_reference_has_built_in(tmp_path):
    building = Building()
    graph = building.graph()
    x, a, y = (graph.tensor(n, s) for n, s in (("x", (4, 6)), ("a", (4, 48)), ("y", (4, 5))))
    w, b, v = (
        graph.tensor(n, value.shape, value=value)
        for n, value in (("w", WEIGHT), ("b", BIAS), ("v", LAST))
    )
    graph.op("FULLY_CONNECTED", [x, w, b], [a], "FullyConnected", fusedActivationFunction=1)
    graph.op("FULLY_CONNECTED", [a, v, -1], [y], "FullyConnected")
    graph.ends([x], [y])
    reference = tmp_path / "r.tflite"
    reference.write_bytes(building.data())
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["a"], name="first", transB=1),
        helper.make_node("Relu", ["a"], ["r"], name="relu"),
        helper.make_node("Gemm", ["r", "v"], ["y"], name="last", transB=1),
    ]
    constants = {"w": WEIGHT[:, ::-1], "b": BIAS, "v": LAST}
    candidate = _reference(tmp_path / "c.onnx", nodes, constants, [4, 5])
    report = isomorph.check(reference, candidate, inputs={"x": X}, in_process=True)
    found = next(finding for finding in report.findings if finding.code == "GUILTY_NODE")
    assert (found.node, found.cause) == ("first", "weight")


def _in_integers(bias):
    """A dense layer in int8 whose grid begins at zero, which is its ReLU."""
    building = Building()
    graph = building.graph()
    step, scale = float(np.abs(X).max() / 127), float(np.abs(WEIGHT).max() / 127)
    most = float(np.maximum(X @ WEIGHT.T + BIAS, 0).max())
    x, y = graph.tensor("x", (4, 6)), graph.tensor("y", (4, 48))
    q = graph.tensor("q", (4, 6), "int8", scale=[step], zero=[0])
    a = graph.tensor("a", (4, 48), "int8", scale=[most / 255], zero=[-128])
    whole = np.rint(WEIGHT / scale)
    w = graph.tensor("w", WEIGHT.shape, "int8", value=whole, scale=[scale], zero=[0])
    counted = np.rint(bias / (step * scale))
    b = graph.tensor("b", (48,), "int32", value=counted, scale=[step * scale], zero=[0])
    graph.op("QUANTIZE", [x], [q])
    graph.op("FULLY_CONNECTED", [q, w, b], [a], "FullyConnected")
    graph.op("DEQUANTIZE", [a], [y])
    graph.ends([x], [y])
    return building


def test_a_grid_that_begins_at_zero_is_an_activation(tmp_path):
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["a"], name="first", transB=1),
        helper.make_node("Relu", ["a"], ["y"], name="relu"),
    ]
    reference = _reference(tmp_path / "r.onnx", nodes, {"w": WEIGHT, "b": BIAS}, [4, 48])
    found = _first(tmp_path, reference, _in_integers(0.0 * BIAS))
    assert found.node == "FULLY_CONNECTED:1"
    assert found.cause == "weight"
    assert found.reference_nodes == ("first", "relu")
