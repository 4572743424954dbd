"""The report of a check that is interrupted while its models are loaded."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from isomorph.checking.config import CheckConfig
from isomorph.checking.interrupt import report_interrupted_load
from isomorph.core.divergence import Verdict
from isomorph.core.interruption import InterruptedCheck
from isomorph.core.report import ModelSummary


def handle(role):
    summary = ModelSummary(
        role=role, location=f"{role}.onnx", framework="onnx", digest="", nodes=0, constants=0
    )
    return SimpleNamespace(role=role, summary=summary)


def interrupted(error, handles=()):
    options = CheckConfig(seed=5, strict=True, quick=True, trusted=("a.pt",))
    with pytest.raises(InterruptedCheck) as caught, report_interrupted_load(options, handles):
        raise error
    return caught.value.report


def test_nothing_is_known_and_the_options_are_stated():
    report = interrupted(KeyboardInterrupt())
    assert (report.verdict, report.exit_code) == (Verdict.UNKNOWN, 3)
    assert (report.seed, report.strict, report.quick, report.trusted) == (5, True, True, ("a.pt",))
    assert [each.why for each in report.skipped] == ["it was interrupted"]


def test_the_models_that_were_loaded_by_then_are_listed_reference_first():
    report = interrupted(KeyboardInterrupt(), [handle("candidate"), handle("reference")])
    assert [each.role for each in report.models] == ["reference", "candidate"]
    alone = interrupted(KeyboardInterrupt(), [handle("candidate")])
    assert [each.role for each in alone.models] == ["candidate"]


def test_a_fuller_report_from_inside_the_check_is_kept():
    inner = replace(interrupted(KeyboardInterrupt()), reason="interrupted, and by then: more")
    assert interrupted(InterruptedCheck(inner)) is inner


def test_other_errors_pass_through():
    with pytest.raises(ZeroDivisionError), report_interrupted_load(CheckConfig(), []):
        raise ZeroDivisionError
