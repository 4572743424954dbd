"""A runtime whose one optimiser is broken: the level is found, then the optimiser itself."""

import onnx
import pytest

import isomorph
from isomorph import registry
from isomorph.runtimes.onnxruntime import OnnxRuntime
from network import network

GUILTY = "QuickGeluFusion"


class Breaking(OnnxRuntime):
    """Wrong by a hundredth wherever the guilty optimiser runs on the accused model."""

    def open(self, model, environment):
        session = super().open(model, environment)
        words = environment.settings
        off = GUILTY in words["disable_optimisers"] or words["optimisation"] in {"none", "basic"}
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
    return isomorph.check(path, path, settings=settings, in_process=True)


def test_the_guilty_optimiser_is_named_with_the_setting_that_switches_it_off(report):
    assert report.verdict == "divergent"
    first = report.findings[0]
    assert (first.code, first.cause, first.status) == ("RUN_AS_A_WHOLE", "fusion", "confirmed")
    assert GUILTY in first.summary
    assert first.fix == f"run with --set disable_optimisers={GUILTY}"
    told = {each.question: each for each in first.experiments}
    assert told["Does an optimiser of the runtime change the result?"].agrees
    assert told["Is it an extended optimiser?"].agrees
    assert told[f"Is it {GUILTY}?"].agrees


def test_the_runtime_s_own_log_shows_that_the_optimiser_ran(report):
    lines = report.findings[0].evidence["log"]
    assert any(f"{GUILTY} modified: 1" in line for line in lines)


def test_every_experiment_states_its_prediction(report):
    for experiment in report.findings[0].experiments:
        assert experiment.predicts
        assert experiment.seen
