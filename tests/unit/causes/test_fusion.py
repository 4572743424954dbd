"""A runtime whose one optimizer is broken: the level is found, then the optimizer itself."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper

import isomorph
from isomorph import registry
from isomorph.causes.fusion import _switched_off
from isomorph.core.execution import Execution, Switch
from isomorph.core.trace import Environment
from isomorph.frameworks.onnx.runtime import OnnxRuntime
from network import network

FAULTY = "QuickGeluFusion"


class Breaking(OnnxRuntime):
    """Wrong by a hundredth wherever the faulty optimizer runs on the tested model."""

    def open(self, model, environment):
        session = super().open(model, environment)
        words = environment.settings
        off = FAULTY in words["disable_optimizers"] or words["optimization"] in {"none", "basic"}
        return session if off or words["deterministic"] == "no" else Off(session)


class Off:
    def __init__(self, session):
        self._session = session
        self.capabilities, self.environment = session.capabilities, session.environment

    def run(self, feeds, fetch, *, noise=None):
        found = self._session.run(feeds, fetch, noise=noise)
        inside = not set(fetch) <= {"logits", "probs"}
        return found if inside else {name: value * 1.01 for name, value in found.items()}

    def close(self):
        self._session.close()


@pytest.fixture
def report(tmp_path, monkeypatch):
    usual = registry.runtime
    broken = Breaking()
    monkeypatch.setattr(
        registry, "runtime", lambda name: broken if name == "onnxruntime" else usual(name)
    )
    path = tmp_path / "network.onnx"
    onnx.save(network(), path)
    settings = {"candidate.deterministic": "yes"}
    return isomorph.check(
        path,
        path,
        in_process=True,
        options=isomorph.CheckOptions(runtime=isomorph.RuntimeOptions(settings=settings)),
    )


def test_the_faulty_optimizer_is_named_with_the_setting_that_switches_it_off(report):
    assert report.verdict == "divergent"
    first = report.findings[0]
    assert (first.code, first.cause, first.status) == ("RUN_AS_A_WHOLE", "fusion", "confirmed")
    assert FAULTY in first.summary
    assert first.fix == f"run with --set disable_optimizers={FAULTY}"
    by_question = {each.question: each for each in first.experiments}
    assert by_question["Does an optimizer of the runtime change the result?"].agrees
    assert by_question["Is it an extended optimizer?"].agrees
    assert by_question[f"Is it {FAULTY}?"].agrees


def test_the_runtime_s_own_log_shows_that_the_optimizer_ran(report):
    lines = report.findings[0].evidence["log"]
    assert any(f"{FAULTY} modified: 1" in line for line in lines)


def test_every_experiment_states_its_prediction(report):
    for experiment in report.findings[0].experiments:
        assert experiment.predicts
        assert experiment.seen


def test_an_optimizer_of_the_installed_runtime_that_is_wrong_is_bisected(tmp_path):
    """Zeros around negative numbers are the largest of them; a pool's own padding never is."""
    text = (
        '<ir_version: 9, opset_import: ["" : 18]> g (float[1,1,4,4] x) => (float[1,1,4,4] y)'
        " { p = Pad (x, b) y = MaxPool <kernel_shape=[3,3]> (p) }"
    )
    proto = onnx.parser.parse_model(text)
    border = numpy_helper.from_array(np.array([0, 0, 1, 1, 0, 0, 1, 1]), "b")
    proto.graph.initializer.append(border)
    path = tmp_path / "padded.onnx"
    onnx.save(proto, path)
    inputs = {"x": -1 - np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)}
    if ran(path)(inputs).max() == 0.0:
        pytest.skip("this version of ONNX Runtime fuses Pad and MaxPool rightly")
    report = isomorph.check(path, inputs=inputs, in_process=True)
    first = report.findings[0]
    assert (first.cause, first.status) == ("fusion", "confirmed")
    assert first.fix == "run with --set disable_optimizers=Pad_Fusion"
    assert "onnxruntime#22177" in first.evidence["known_issues"][0]


def ran(path):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return lambda inputs: session.run(None, inputs)[0]


def test_optimizers_that_do_each_other_s_work_are_found_together():
    """Either of two breaks the run, and the second shows itself only with the first one off."""

    def right(settings):
        off = settings.get("disable_optimizers", "").split(",")
        return settings.get("optimization") == "none" or {"First", "Second"} <= set(off)

    def single(settings):
        names = ["Harmless", "First"] + ["Second"] * ("First" in str(settings))
        return tuple(Switch(name=n, settings={"disable_optimizers": n}) for n in names)

    execution = Execution(
        environment=Environment(runtime="onnxruntime"), plain={"optimization": "none"},
        right=right, steady=lambda _: True, alone=lambda *_: None, single=single,
    )  # fmt: skip
    (answer,) = _switched_off(execution)
    assert answer.fix == "run with --set disable_optimizers=First,Second"
    assert "First and Second changed the result" in answer.summary


def test_among_many_optimizers_the_one_is_found_by_halves():
    names, asked = [f"Pass{index}" for index in range(32)], []

    def right(settings):
        asked.append(settings)
        off = settings.get("disable_optimizers", "").split(",")
        return settings.get("optimization") == "none" or "Pass21" in off

    [found] = _switched_off(
        Execution(
            environment=Environment(runtime="onnxruntime"),
            plain={"optimization": "none"},
            right=right,
            steady=lambda _: True,
            alone=lambda *_: None,
            single=lambda _: tuple(
                Switch(name=name, settings={"disable_optimizers": name}) for name in names
            ),
        )
    )
    assert found.fix == "run with --set disable_optimizers=Pass21"
    assert len(asked) < 16
