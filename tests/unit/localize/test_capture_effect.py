"""A run that changes when its tensors are captured: the finding names which of the two is right."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from isomorph.core.trace import Capabilities, Environment
from isomorph.diagnose.runtime_faults import runtime_faults
from isomorph.frameworks.onnx.framework import OnnxFramework
from isomorph.frameworks.onnx.oracle import OnnxOracle
from isomorph.localize.capture_effect import changed_by_capturing
from isomorph.measure.evaluated_model import EvaluatedModel
from isomorph.measure.spread import FALSE_ALARM

X = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
W = np.random.default_rng(1).normal(size=(4, 4)).astype(np.float32)


@pytest.fixture(scope="module")
def model():
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["m"], "product"),
         helper.make_node("Sigmoid", ["m"], ["y"], "gate")],
        "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, 4])],
        [numpy_helper.from_array(W, "w")],
    )  # fmt: skip
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(made)
    return OnnxFramework().load(made, {})


class Fusing:
    """Runs right, but for what an optimizer does when nobody looks inside."""

    capabilities = Capabilities()
    environment = Environment(runtime="onnxruntime", isolation="none")

    def __init__(self, oracle, error):
        self.oracle, self.error = oracle, error

    def run(self, feeds, fetch, *, noise=None):
        found = self.oracle.run(feeds, fetch)
        values = {name: np.asarray(value).astype(np.float32) for name, value in found.items()}
        if set(fetch) == {"y"}:
            values["y"] = values["y"] + np.float32(self.error)
        return values


def subject(model, error):
    oracle = OnnxOracle().open(model, Environment(runtime="onnx_oracle"))
    fusing = Fusing(oracle, error)
    return EvaluatedModel(
        role="candidate", model=model, feeds={"x": X}, runtime=lambda: fusing,
        plain=lambda: fusing, oracle=lambda: oracle, seed=0,
    )  # fmt: skip


def captured(candidate):
    return candidate.runtime().run(candidate.feeds, ["m", "y"])


def test_a_change_beyond_rounding_is_a_finding(model):
    candidate = subject(model, 0.25)
    found = changed_by_capturing(candidate, captured(candidate), ["y"], FALSE_ALARM)
    assert (found.code, found.effect, found.tensors) == ("CAPTURE_CHANGED", "none", ("y",))
    assert "the captured run is right" in found.summary
    assert found.evidence["outputs"]["y"] == pytest.approx(0.25, rel=1e-3)


@pytest.mark.parametrize("error", [0.0, 1e-8])
def test_rounding_is_no_finding(model, error):
    candidate = subject(model, error)
    assert changed_by_capturing(candidate, captured(candidate), ["y"], FALSE_ALARM) is None


def test_an_execution_fault_that_vanishes_under_capture_is_reported_as_such(model):
    candidate = subject(model, 0.25)
    findings, _ = runtime_faults(candidate, ["y"], FALSE_ALARM)
    assert "CAPTURE_CHANGED" in {finding.code for finding in findings}
