"""Scores beside the huge negative numbers of a mask are looked at by themselves."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import isomorph

RANDOM = np.random.default_rng(3)
X = RANDOM.standard_normal((1, 6, 4)).astype(np.float32)
KEYS = RANDOM.standard_normal((4, 6)).astype(np.float32)
VALUES = RANDOM.standard_normal((6, 3)).astype(np.float32)
SEEN = np.tril(np.ones((1, 6, 6), bool))
LOWEST = np.full((1,), np.finfo(np.float32).min, np.float32)


def _attention(path, scale, *, added):
    masking = (
        helper.make_node("Add", ["scaled", "mask"], ["masked"], name="mask")
        if added
        else helper.make_node("Where", ["seen", "scaled", "lowest"], ["masked"], name="mask")
    )
    weights = {
        "k": KEYS, "scale": np.float32([scale]), "seen": SEEN, "lowest": LOWEST, "v": VALUES,
        "mask": np.where(SEEN, np.float32(0), LOWEST),
    }  # fmt: skip
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "k"], ["scores"], name="scores"),
            helper.make_node("Mul", ["scores", "scale"], ["scaled"], name="scale"),
            masking,
            helper.make_node("Softmax", ["masked"], ["shares"], name="softmax", axis=-1),
            helper.make_node("MatMul", ["shares", "v"], ["y"], name="mix"),
        ],
        "attention",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 6, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 6, 3])],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    onnx.save(model, path)
    return path


@pytest.mark.parametrize("added", [False, True])
def test_a_wrong_scale_before_a_mask_is_named(tmp_path, added):
    pair = (
        _attention(tmp_path / "r.onnx", 0.5, added=added),
        _attention(tmp_path / "c.onnx", 0.65, added=added),
    )
    report = isomorph.check(*pair, inputs={"x": X}, in_process=True)
    faulty = [finding.node for finding in report.findings if finding.code == "GUILTY_NODE"]
    assert faulty == ["scale"]


@pytest.mark.parametrize("added", [False, True])
def test_masked_scores_that_are_right_stay_so(tmp_path, added):
    pair = (
        _attention(tmp_path / "r.onnx", 0.5, added=added),
        _attention(tmp_path / "c.onnx", 0.5, added=added),
    )
    assert isomorph.check(*pair, inputs={"x": X}, in_process=True).verdict == "equivalent"
