"""Inputs of one shape in each other's place: named as such, and put back."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import isomorph

RANDOM = np.random.default_rng(9)


def drawn(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


NORM = {"s": drawn(4) + 2, "b": drawn(4), "m": drawn(4), "v": np.abs(drawn(4)) + 0.5}
CELL = {"w": drawn(1, 20, 3), "r": drawn(1, 20, 5), "o": drawn(1, 40)}
X, H, C = drawn(6, 2, 3), drawn(1, 2, 5), drawn(1, 2, 5)


def saved(path, node, inputs, constants, shape):
    graph = helper.make_graph(
        [node, helper.make_node("Tanh", [node.output[0]], ["y"], name="tanh")],
        "network",
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape)
            for name, value in inputs.items()
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    onnx.save(model, path)
    return path


def norm(order):
    node = helper.make_node("BatchNormalization", ["x", *order], ["n"], name="it")
    return node, {"x": drawn(2, 4, 6)}, NORM, (2, 4, 6)


def cell(order):
    node = helper.make_node("LSTM", ["x", "w", "r", "o", "", *order], ["n"], name="it",
                            hidden_size=5)  # fmt: skip
    return node, {"x": X, "h": H, "c": C}, CELL, (6, 1, 2, 5)


@pytest.mark.parametrize(
    ("network", "right", "wrong"), [(norm, "sbmv", "mbsv"), (cell, "hc", "ch")]
)
def test_two_inputs_in_each_others_place(tmp_path, network, right, wrong):
    reference = saved(tmp_path / "r.onnx", *network(right))
    node, inputs, *rest = network(wrong)
    candidate = saved(tmp_path / "c.onnx", node, inputs, *rest)
    report = isomorph.check(reference, candidate, inputs=inputs, in_process=True)
    first = report.findings[0]
    assert (report.verdict, first.node, first.cause) == ("divergent", "it", "layout")
    assert "swapped" in first.summary
    assert first.status == "confirmed"


def test_they_are_put_back(tmp_path):
    reference = saved(tmp_path / "r.onnx", *cell("hc"))
    node, inputs, *rest = cell("ch")
    candidate = saved(tmp_path / "c.onnx", node, inputs, *rest)
    output = tmp_path / "fixed.onnx"
    isomorph.fix(reference, candidate, output=output, inputs=inputs, in_process=True)
    assert list(onnx.load(output).graph.node[0].input)[5:7] == ["h", "c"]
