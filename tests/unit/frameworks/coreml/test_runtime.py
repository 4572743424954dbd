"""Core ML where it is, with a stand-in for Core ML Tools, and one line where it is not."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import isomorph
from coreml_building import OUTPUTS, onnx_network, small_package
from isomorph.core.divergence import Verdict
from isomorph.core.errors import RuntimeFailedError, UsageError
from isomorph.core.trace import Environment, Noise
from isomorph.frameworks.coreml.evaluator import Evaluator
from isomorph.frameworks.coreml.framework import CoremlFramework
from isomorph.frameworks.coreml.package import open_model
from isomorph.frameworks.coreml.runtime import CoremlRuntime

X = np.random.default_rng(1).normal(size=(2, 3, 6, 6)).astype(np.float32)


class Predictor:
    """Predicts as Core ML does: a dict in, a dict of float32 and integers out."""

    wrong = 0.0

    def __init__(self, path, compute_units):
        from pathlib import Path

        program = open_model(Path(path)).program
        self.units, self.outputs = compute_units, program.outputs
        self.evaluator = Evaluator(program)

    def predict(self, given):
        if set(given) != {"x"}:
            raise ValueError("no such input")
        found = self.evaluator.run(given, list(self.outputs))
        found["logits"] = (found["logits"] + self.wrong).astype(np.float32)
        return found


@pytest.fixture
def mac(monkeypatch):
    """A machine with Core ML, as far as the runtime asks about it."""
    units = SimpleNamespace(ALL="ALL", CPU_ONLY="CPU_ONLY", CPU_AND_GPU="g", CPU_AND_NE="n")
    tools = SimpleNamespace(
        __version__="9.0", ComputeUnit=units, models=SimpleNamespace(MLModel=Predictor)
    )
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setitem(sys.modules, "coremltools", tools)
    return tools


def opened(path, **settings):
    runtime = CoremlRuntime()
    model = CoremlFramework().load(str(path), {})
    asked = Environment(runtime="coreml", settings={**runtime.settings, **settings})
    return runtime.open(model, asked)


def test_elsewhere_one_line_states_the_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    assert CoremlRuntime().unavailable() == "Core ML needs macOS"
    with pytest.raises(RuntimeFailedError, match="needs macOS") as caught:
        opened(small_package(tmp_path / "m.mlpackage"))
    assert caught.value.code == "RUNTIME_UNAVAILABLE"
    assert caught.value.exit_code == 3
    assert "--translation-only" in caught.value.fix


def test_a_prediction_comes_in_the_declared_types(tmp_path, mac):
    assert CoremlRuntime().unavailable() == ""
    session = opened(small_package(tmp_path / "m.mlpackage"), compute_units="cpu_only")
    found = session.run({"x": X}, list(OUTPUTS))
    assert found["logits"].dtype == np.float32
    assert found["label"].dtype == np.int32
    assert session.environment.device == "cpu_only"
    assert session.environment.version.startswith("9.0")
    assert (session.capabilities.fetch, session.capabilities.feed) == ("outputs", "inputs")
    session.close()


@pytest.mark.parametrize(
    ("feeds", "fetch", "noise", "code"),
    [
        ({"x": X}, ["convolved"], None, "OUTPUTS_ONLY"),
        ({"x": X, "convolved": X}, ["logits"], None, "OUTPUTS_ONLY"),
        ({}, ["logits"], None, "MISSING_INPUT"),
        ({"x": X}, ["logits"], Noise(seed=1), "NO_NOISE"),
    ],
)
def test_what_it_cannot_do_is_refused(tmp_path, mac, feeds, fetch, noise, code):
    session = opened(small_package(tmp_path / "m.mlpackage"))
    with pytest.raises(UsageError) as caught:
        session.run(feeds, fetch, noise=noise)
    assert caught.value.code == code


def test_failures_are_errors_of_the_runtime(tmp_path, mac, monkeypatch):
    path = small_package(tmp_path / "m.mlpackage")
    with pytest.raises(UsageError):
        opened(path, compute_units="many")

    def refuse(path, compute_units):
        raise RuntimeError("Error compiling model")

    session = opened(path)
    monkeypatch.setattr(Predictor, "predict", lambda self, given: {})
    with pytest.raises(RuntimeFailedError, match="no output"):
        session.run({"x": X}, ["logits"])

    def fail(self, given):
        raise RuntimeError("Unable to compute the prediction")

    monkeypatch.setattr(Predictor, "predict", fail)
    with pytest.raises(RuntimeFailedError) as caught:
        session.run({"x": X}, ["logits"])
    assert "Unable to compute" in caught.value.why
    mac.models.MLModel = refuse
    with pytest.raises(RuntimeFailedError, match="refuses"):
        opened(path)


def test_settings_are_shown_as_code():
    (line,) = CoremlRuntime().settings_code({"compute_units": "cpu_only"})
    assert "ComputeUnit.CPU_ONLY" in line


@pytest.mark.parametrize("wrong", [0.0, 0.01])
def test_a_trace_from_a_mac_is_compared_on_any_machine(tmp_path, mac, monkeypatch, wrong):
    path = small_package(tmp_path / "m.mlpackage")
    monkeypatch.setattr(Predictor, "wrong", wrong)
    inputs = {"x": X}
    isomorph.trace(str(path), output=tmp_path / "trace", inputs=inputs, in_process=True)
    monkeypatch.undo()
    monkeypatch.setattr(sys, "platform", "linux")
    report = isomorph.check(onnx_network(tmp_path), str(tmp_path / "trace"), in_process=True)
    wanted = Verdict.DIVERGENT if wrong else Verdict.EQUIVALENT
    assert report.verdict is wanted, report.reason
    assert report.translation is None
    assert report.not_run == ()
