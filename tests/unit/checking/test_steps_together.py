"""Later steps of decoding are evaluated side by side, and judged as if each had been alone."""

import pytest

import isomorph
from isomorph.checking import steps_together
from isomorph.core.divergence import Verdict
from isomorph.oracle import stored_matrix, weights
from isomorph.oracle.session import OracleSession
from onnx_decoders import Faults, rotary_decoder

STEPS = 9


def figures(report):
    steps = [step.ratio for step in report.decoding.steps]
    return steps, [ratio for cache in report.decoding.caches for ratio in cache.ratios]


@pytest.fixture
def counted(monkeypatch):
    """How many runs of an oracle were asked for at a time."""
    found, run_many = [], OracleSession.run_many

    def counting(self, requests):
        found.append(len(requests))
        return run_many(self, requests)

    monkeypatch.setattr(OracleSession, "run_many", counting)
    return found


@pytest.mark.parametrize("lifted", [True, False])
def test_steps_have_the_figures_that_they_have_alone(tmp_path, monkeypatch, counted, lifted):
    if not lifted:  # as weights that are too large to be kept in float64
        monkeypatch.setattr(weights, "LIFTED_WEIGHT_BYTES", 1)
        monkeypatch.setattr(stored_matrix, "LARGE", 1)
    models = [rotary_decoder(tmp_path / f"{name}.onnx") for name in "ab"]
    together = isomorph.check(*models, decode=STEPS, in_process=True)
    assert max(counted) >= STEPS - 1
    counted.clear()
    monkeypatch.setattr(steps_together, "STEPS_TOGETHER", 1)
    alone = isomorph.check(*models, decode=STEPS, in_process=True)
    assert max(counted) < STEPS - 1
    assert together.verdict is alone.verdict is Verdict.EQUIVALENT
    for one, other in zip(figures(together), figures(alone), strict=True):
        assert one == pytest.approx(other, rel=1e-6)


def test_a_fault_that_only_later_steps_show_is_found(tmp_path):
    models = (
        rotary_decoder(tmp_path / "a.onnx"),
        rotary_decoder(tmp_path / "b.onnx", Faults(new_first=True)),
    )
    report = isomorph.check(*models, decode=4, in_process=True)
    assert report.verdict is Verdict.DIVERGENT
    wrong = report.decoding.caches[report.decoding.first_wrong_cache]
    assert wrong.first_wrong == 1
    assert all(step.verdict is not None for step in report.decoding.steps)


def test_no_memory_for_two_steps_leaves_them_alone(tmp_path, monkeypatch):
    models = [rotary_decoder(tmp_path / f"{name}.onnx") for name in "ab"]
    monkeypatch.setattr(steps_together, "STEP_BYTES", 1)
    report = isomorph.check(*models, decode=3, in_process=True)
    assert report.verdict is Verdict.EQUIVALENT
    assert len(report.decoding.steps) == 4


def test_steps_of_narrow_weights_are_judged_as_each_alone(tmp_path, monkeypatch, counted):
    monkeypatch.setattr(weights, "LIFTED_WEIGHT_BYTES", 1)
    models = (
        rotary_decoder(tmp_path / "a.onnx"),
        rotary_decoder(tmp_path / "b.onnx", narrow=True),
    )
    together = isomorph.check(*models, decode=STEPS, in_process=True)
    assert max(counted) >= STEPS - 1
    monkeypatch.setattr(steps_together, "STEPS_TOGETHER", 1)
    alone = isomorph.check(*models, decode=STEPS, in_process=True)
    assert together.verdict is alone.verdict is Verdict.DEGRADED
    for one, other in zip(together.decoding.steps, alone.decoding.steps, strict=True):
        assert one.verdict is other.verdict
        assert one.choices == other.choices
