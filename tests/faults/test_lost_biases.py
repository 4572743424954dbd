"""A fault in the wild: tf2onnx loses the biases of an LSTM that litert-torch wrote."""

from pathlib import Path

import numpy as np
import onnx
import pytest

import isomorph

HERE = Path(__file__).parent / "lost_biases"


@pytest.fixture(scope="module")
def inputs():
    with np.load(HERE / "x.npz") as arrays:
        return {name: arrays[name] for name in arrays.files}


@pytest.fixture(scope="module")
def report(inputs):
    given = {"args_0": inputs["args_0"]}
    return isomorph.check(HERE / "lstm.tflite", HERE / "lstm.onnx", inputs=given, in_process=True)


def test_the_reference_is_what_pytorch_computed(inputs):
    given = {"args_0": inputs["args_0"]}
    [value] = isomorph.run(HERE / "lstm.tflite", inputs=given, in_process=True).tensors.values()
    assert np.allclose(value, inputs["expected"], atol=1e-6)


def test_every_bare_product_is_named_and_its_bias_is_missed(report):
    assert report.verdict == "divergent"
    faulty = [finding for finding in report.findings if finding.code == "GUILTY_NODE"]
    nodes = {node.name: node for node in onnx.load(HERE / "lstm.onnx").graph.node}
    assert len(faulty) == 4
    for finding in faulty:
        assert nodes[finding.node].op_type == "MatMul"
        assert finding.status == "confirmed"
        assert finding.cause == "weight"
        assert "bias" in finding.summary
        assert "is not added" in finding.summary
        assert finding.reference_nodes[-1].startswith("FULLY_CONNECTED:")


def test_equal_names_are_not_equal_tensors(report):
    """tf2onnx gives the bare product the name that the biased tensor had."""
    first = next(finding for finding in report.findings if finding.code == "GUILTY_NODE")
    there = isomorph.inspect(HERE / "lstm.tflite", in_process=True).graph
    assert set(first.tensors) & set(there.tensors)
