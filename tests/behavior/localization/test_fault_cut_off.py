"""A fault whose values run into the end of a grid: what is cut off looks like lost precision."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import isomorph

RNG = np.random.default_rng(3)
FIRST, SECOND = RNG.standard_normal((12, 16)), RNG.standard_normal((16, 6))
X = RNG.standard_normal((64, 12)).astype(np.float32)
NODE = helper.make_node


def _saved(path, nodes, constants):
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [64, 12])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 6])],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    opset = [helper.make_opsetid("", 18)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=10), path)
    return path


def _plain(path):
    constants = {"w": FIRST.astype("f4"), "v": SECOND.astype("f4"), "axes": np.int64([0])}
    nodes = [
        NODE("MatMul", ["x", "w"], ["h"], name="first"),
        NODE("ReduceMax", ["h", "axes"], ["m"], name="peak"),
        NODE("MatMul", ["m", "v"], ["y"], name="second"),
    ]
    return _saved(path, nodes, constants)


def _quantized(path, weight):
    """The first weight and both tensors on grids of eight bits, calibrated on the right weight."""
    step = (np.abs(weight).max(axis=0) / 127).astype("f4")
    hidden = X @ FIRST
    constants = {
        "v": SECOND.astype("f4"), "axes": np.int64([0]),
        "w_q": np.rint(weight / step).astype(np.int8), "w_s": step, "w_z": np.zeros(16, np.int8),
        "h_s": np.float32(np.abs(hidden).max() / 127), "h_z": np.int8(0),
        "m_s": np.float32(np.abs(hidden.max(axis=0)).max() / 127), "m_z": np.int8(0),
    }  # fmt: skip
    nodes = [
        NODE("DequantizeLinear", ["w_q", "w_s", "w_z"], ["w"], name="w", axis=1),
        NODE("MatMul", ["x", "w"], ["h"], name="first"),
        NODE("QuantizeLinear", ["h", "h_s", "h_z"], ["hq"], name="h_to"),
        NODE("DequantizeLinear", ["hq", "h_s", "h_z"], ["hd"], name="h_from"),
        NODE("ReduceMax", ["hd", "axes"], ["m"], name="peak"),
        NODE("QuantizeLinear", ["m", "m_s", "m_z"], ["mq"], name="m_to"),
        NODE("DequantizeLinear", ["mq", "m_s", "m_z"], ["md"], name="m_from"),
        NODE("MatMul", ["md", "v"], ["y"], name="second"),
    ]
    return _saved(path, nodes, constants)


@pytest.mark.parametrize("times", [2.0, 4.0])
def test_two_wrong_columns_are_found_where_their_values_are_cut_off(tmp_path, times):
    wrong = FIRST.copy()
    wrong[:, [5, 9]] = times * wrong[::-1, [5, 9]]
    plain, broken = _plain(tmp_path / "p.onnx"), _quantized(tmp_path / "q.onnx", wrong)
    report = isomorph.check(plain, broken, inputs={"x": X}, in_process=True)
    assert report.outputs[0].intended_loss.budget.ratio < 1, "the outputs alone would tell"
    assert report.verdict == "divergent", report.reason
    assert (report.findings[0].node, report.findings[0].cause) == ("first", "weight")


def test_the_right_columns_are_a_loss(tmp_path):
    plain, right = _plain(tmp_path / "p.onnx"), _quantized(tmp_path / "q.onnx", FIRST)
    report = isomorph.check(plain, right, inputs={"x": X}, in_process=True)
    assert report.verdict == "degraded", report.reason
