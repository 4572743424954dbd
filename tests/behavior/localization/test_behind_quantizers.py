"""Healing is looked for behind the quantizers and reshapes that merely pass a value on."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import isomorph

RANDOM = np.random.default_rng(4)
FIRST = RANDOM.standard_normal((12, 16)).astype(np.float32)
SECOND = RANDOM.standard_normal((16, 10)).astype(np.float32)
THIRD = RANDOM.standard_normal((10, 6)).astype(np.float32)
X = RANDOM.standard_normal((8, 12)).astype(np.float32)


def _grid(name, values):
    step = np.float32(np.abs(values).max() / 127.0)
    return {f"{name}_scale": step, f"{name}_zero": np.int8(0)}


def _quantized(name, made):
    """A quantizer and its inverse behind ``made``."""
    grid = [f"{name}_scale", f"{name}_zero"]
    return [
        helper.make_node("QuantizeLinear", [made, *grid], [f"{name}_q"], name=f"{name}_q"),
        helper.make_node(
            "DequantizeLinear", [f"{name}_q", *grid], [f"{name}_dq"], name=f"{name}_dq"
        ),
    ]


def _saved(path, nodes, constants):
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [8, 12])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [8, 6])],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    onnx.save(model, path)
    return path


@pytest.fixture
def reference(tmp_path):
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["a"], name="first"),
        helper.make_node("Reshape", ["a", "shape"], ["r"], name="reshape"),
        helper.make_node("MatMul", ["r", "w2"], ["b"], name="second"),
        helper.make_node("MatMul", ["b", "w3"], ["y"], name="third"),
    ]
    shape = np.array([8, 16])
    constants = {"w1": FIRST, "w2": SECOND, "w3": THIRD, "shape": shape}
    return _saved(tmp_path / "reference.onnx", nodes, constants)


def test_a_misread_grid_is_named_although_two_more_quantizers_follow_it(reference, tmp_path):
    first = X @ FIRST
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["a"], name="first"),
        *_quantized("a", "a"),
        helper.make_node("Reshape", ["a_dq", "shape"], ["r"], name="reshape"),
        *_quantized("r", "r"),
        helper.make_node("Identity", ["r_dq"], ["i"], name="identity"),
        *_quantized("i", "i"),
        helper.make_node("MatMul", ["i_dq", "w2"], ["b"], name="second"),
        helper.make_node("MatMul", ["b", "w3"], ["y"], name="third"),
    ]
    constants = {"w1": FIRST, "w2": SECOND, "w3": THIRD, "shape": np.array([8, 16])}
    for name in "ari":
        constants |= _grid(name, first)
    constants["misread"] = np.float32(0.6) * constants["a_scale"]
    nodes[2].input[1] = "misread"
    candidate = _saved(tmp_path / "candidate.onnx", nodes, constants)
    report = isomorph.check(reference, candidate, inputs={"x": X}, in_process=True)
    assert report.verdict == "divergent"
    assert report.findings[0].node == "a_dq"
