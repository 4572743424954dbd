"""A model that this machine cannot run: its graph is judged, and nobody takes that for a run."""

import json
import sys

import numpy as np
import pytest

import isomorph
from coreml_building import (
    INPUTS,
    OUTPUTS,
    network,
    onnx_network,
    small_package,
    specification,
)
from isomorph.core.divergence import Verdict
from isomorph.registry import reporter
from isomorph.reporters.json import JsonReporter
from isomorph.store.reports import read_report

X = {"x": np.random.default_rng(1).normal(size=(2, 3, 6, 6)).astype(np.float32)}
WHY = "Core ML needs macOS"


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")


@pytest.fixture
def pair(tmp_path):
    return onnx_network(tmp_path), str(small_package(tmp_path / "m.mlpackage"))


@pytest.fixture
def wrong(tmp_path):
    """The reference, and the program with other weights in its last layer."""

    def held(block, name, array):
        return block.const(name, array + np.float32(0.25) if name == "k" else array)

    path = tmp_path / "wrong.mlmodel"
    path.write_bytes(specification(network(held=held), INPUTS, OUTPUTS))
    return onnx_network(tmp_path), str(path)


def checked(pair, **more):
    return isomorph.check(*pair, inputs=X, in_process=True, **more)


def test_what_was_not_run_is_unknown_unless_the_graphs_alone_are_asked_about(pair):
    plain = checked(pair)
    assert plain.verdict is Verdict.UNKNOWN
    assert plain.translation is Verdict.EQUIVALENT
    assert plain.exit_code == 3
    assert "--translation-only" in plain.reason
    assert plain.headline.startswith("UNKNOWN: EQUIVALENT in translation ")
    asked = checked(pair, translation_only=True)
    assert asked.verdict is asked.translation is Verdict.EQUIVALENT
    assert asked.exit_code == 0
    assert asked.headline == f"EQUIVALENT in translation on 1 given input; not run: {WHY}"
    (one,) = asked.not_run
    assert (one.role, one.runtime, one.why) == ("candidate", "coreml", WHY)


@pytest.mark.parametrize("asked", [True, False])
def test_graphs_that_differ_are_divergent_without_any_run(wrong, asked):
    report = checked(wrong, translation_only=asked)
    assert report.verdict is report.translation is Verdict.DIVERGENT
    assert report.exit_code == 1
    assert report.headline.startswith("DIVERGENT in translation")
    assert any(each.node == "op_logits" or "k" in each.tensors for each in report.findings)


def test_no_error_of_a_run_is_reported_that_was_not_made(pair):
    report = checked(pair, translation_only=True)
    for each in report.outputs:
        assert each.observed is None
        assert each.execution_candidate is None
        assert each.execution_reference is not None
        assert each.rounding is not None


def test_on_either_side(pair):
    report = checked(pair[::-1], translation_only=True)
    assert report.verdict is Verdict.EQUIVALENT
    assert [each.role for each in report.not_run] == ["reference"]
    assert all(each.execution_reference is None for each in report.outputs)


def test_a_model_alone_has_no_translation_to_judge(pair):
    report = isomorph.check(pair[1], inputs=X, in_process=True, translation_only=True)
    assert report.verdict is Verdict.UNKNOWN
    assert report.translation is None
    assert report.exit_code == 3


def test_the_option_changes_nothing_for_models_that_run(pair):
    report = isomorph.check(
        pair[0], pair[0], inputs=X, in_process=True, translation_only=True, quick=True
    )
    assert report.verdict is Verdict.EQUIVALENT
    assert report.translation is None
    assert report.headline == "EQUIVALENT on 1 given input (quick: outputs only)"


@pytest.mark.parametrize("asked", [True, False])
@pytest.mark.parametrize("name", ["terminal", "markdown", "github", "junit", "html", "sarif"])
def test_every_report_says_so(pair, name, asked, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    report = checked(pair, translation_only=asked, quick=True)
    text = reporter(name).render(report)
    assert WHY in text
    assert "in translation" in text or '"translation"' in text
    if name == "junit":
        assert ("<error" in text) is not asked
    if name == "terminal" and not asked:  # models that agree take one line
        assert f"coreml: not run, {WHY}" in text


def test_a_json_report_keeps_it(pair, tmp_path):
    report = checked(pair, translation_only=True, quick=True)
    path = tmp_path / "report.json"
    path.write_text(JsonReporter().render(report))
    assert json.loads(path.read_text())["translation"] == "equivalent"
    again = read_report(path)
    assert again.not_run == report.not_run
    assert again.headline == report.headline
