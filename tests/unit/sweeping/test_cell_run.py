"""What a cell's process left becomes its result."""

from pathlib import Path

import pytest

from isomorph.core.sweep import CellStatus, Verb
from isomorph.sweeping.cell_process import Ended
from isomorph.sweeping.cell_run import answer


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
