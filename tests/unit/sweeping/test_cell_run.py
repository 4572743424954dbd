"""What a cell's process left becomes its result."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from isomorph.core.divergence import Verdict
from isomorph.core.sweep import CellStatus, Verb
from isomorph.sweeping.cell_process import Ended
from isomorph.sweeping.cell_run import answer, report_words


def ended(code, stderr=""):
    return Ended(exit_code=code, stderr=stderr, seconds=1.0, cpu_seconds=2.0, peak_bytes=3)


@pytest.mark.parametrize(("code", "word"), [(0, "proven"), (3, "open")])
def test_the_exit_code_of_a_proof_is_its_answer(tmp_path, code, word):
    (tmp_path / "r.json").write_text("{}", encoding="utf-8")
    assert answer(Verb.PROVE, ended(code), tmp_path / "r.json")["verdict"] == word


def test_an_error_gives_its_first_line():
    lines = "note\nerror[FILE_NOT_FOUND] there is none\n  fix: look\n"
    found = answer(Verb.CHECK, ended(2, lines), Path("absent"))
    assert found["reason"] == "error[FILE_NOT_FOUND] there is none"
    assert found["status"] is CellStatus.DONE


def test_a_process_that_was_ended_is_lost():
    assert answer(Verb.CHECK, ended(None, "Killed\n"), Path("absent"))["status"] is CellStatus.LOST


@pytest.mark.parametrize(
    ("facts", "word"),
    [
        ({"repaired": True, "exit_code": 0, "patches": [{"summary": "set axis"}]}, "repaired"),
        ({"repaired": True, "exit_code": 0, "session": {"settings": {}}}, "repaired"),
        ({"repaired": True, "exit_code": 0, "verdict": "equivalent"}, "equivalent"),
        ({"repaired": False, "exit_code": 1}, "unrepaired"),
        ({"repaired": False, "exit_code": 3, "verdict": "unknown"}, "unknown"),
    ],
)
def test_a_repair_is_the_answer_of_fix(tmp_path, facts, word):
    document = {"verdict": "divergent", "reason": "why", "patches": [], "session": None, **facts}
    (tmp_path / "r.json").write_text(json.dumps(document), encoding="utf-8")
    found = answer(Verb.FIX, ended(facts["exit_code"]), tmp_path / "r.json")
    assert found["verdict"] == word
    assert found["reason"] == ("set axis" if document["patches"] else "why")


def test_the_last_verdict_is_the_answer_of_a_conversion(tmp_path):
    text = json.dumps({"verdict": "degraded", "reason": "float16"})
    (tmp_path / "r.json").write_text(text, encoding="utf-8")
    found = answer(Verb.CONVERT, ended(0), tmp_path / "r.json")
    assert (found["verdict"], found["reason"]) == ("degraded", "float16")


def test_the_report_is_not_the_model(tmp_path):
    assert report_words(tmp_path, Verb.CHECK)[1].startswith("--output=")
    assert report_words(tmp_path, Verb.FIX)[1].startswith("--report=")
    assert report_words(tmp_path, Verb.CONVERT)[1].startswith("--report=")


@pytest.mark.parametrize(("verdict", "ratio"), [("equivalent", 0.0), ("unknown", None)])
def test_no_difference_seen_is_an_error_of_zero_only_with_a_verdict(
    tmp_path, report, verdict, ratio
):
    output = next(each for each in report.outputs if each.execution_candidate is not None)
    term = output.execution_candidate
    term = replace(term, budget=replace(term.budget, ratio=0.0))
    output = replace(output, rounding=None, intended_loss=None, execution_candidate=term)
    changed = replace(report, verdict=Verdict(verdict), findings=(), outputs=(output,))
    changed.save(tmp_path / "r.json")
    assert answer(Verb.CHECK, ended(0), tmp_path / "r.json")["ratio"] == ratio
