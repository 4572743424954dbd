"""Inputs and outputs in another arrangement of axes: settled by proof and reported."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import isomorph
from isomorph.core.errors import UsageError


def network(folder, name, *, last, fault=False, size=6):
    """Conv and Relu on channels-first data; ``last`` puts transposes around them."""
    rng = np.random.default_rng(0)
    weight = rng.normal(size=(4, 3, 3, 3)).astype(np.float32)
    first, final = [2, 3, size, size], [2, 4, size, size]
    nodes = [
        helper.make_node("Conv", ["c", "w"], ["k"], "conv", pads=[1, 1, 1, 1]),
        helper.make_node("LeakyRelu", ["k"], ["r"], "act", alpha=0.3 if fault else 0.1),
    ]
    if last:
        first, final = [2, size, size, 3], [2, size, size, 4]
        nodes = [
            helper.make_node("Transpose", ["image"], ["c"], "in", perm=[0, 3, 1, 2]),
            *nodes,
            helper.make_node("Transpose", ["r"], ["y"], "out", perm=[0, 2, 3, 1]),
        ]
    else:
        nodes[0].input[0], nodes[1].output[0] = "image", "y"
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, first)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, final)],
        [numpy_helper.from_array(weight, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, folder / name)
    return folder / name


def test_channels_last_is_settled_by_the_outputs_and_noted(tmp_path):
    reference = network(tmp_path, "first.onnx", last=False)
    report = isomorph.check(reference, network(tmp_path, "last.onnx", last=True), in_process=True)
    assert report.verdict == "equivalent"
    summaries = {finding.code: finding.summary for finding in report.findings}
    assert "(0, 2, 3, 1)" in summaries["INPUT_LAYOUT"]
    assert "only with it the outputs agree" in summaries["INPUT_LAYOUT"]
    assert "(0, 3, 1, 2)" in summaries["OUTPUT_SHAPE"]


def test_a_fault_behind_another_layout_is_still_divergent(tmp_path):
    reference = network(tmp_path, "first.onnx", last=False)
    wrong = network(tmp_path, "wrong.onnx", last=True, fault=True)
    report = isomorph.check(reference, wrong, in_process=True)
    assert report.verdict == "divergent"
    assert "moves a single axis" in {f.code: f.summary for f in report.findings}["INPUT_LAYOUT"]


def test_the_users_word_is_taken(tmp_path):
    reference = network(tmp_path, "first.onnx", last=False)
    candidate = network(tmp_path, "last.onnx", last=True)
    report = isomorph.check(
        reference,
        candidate,
        in_process=True,
        options=isomorph.CheckOptions(layouts={"image": (0, 3, 2, 1)}),
    )
    assert report.verdict == "divergent"
    with pytest.raises(UsageError, match="does not order"):
        isomorph.check(
            reference,
            candidate,
            in_process=True,
            options=isomorph.CheckOptions(layouts={"image": (0, 1)}),
        )


def test_shapes_that_no_arrangement_brings_together_are_an_error(tmp_path):
    reference = network(tmp_path, "first.onnx", last=False)
    other = network(tmp_path, "other.onnx", last=False, size=5)
    with pytest.raises(UsageError, match="cannot take"):
        isomorph.check(reference, other, in_process=True)
