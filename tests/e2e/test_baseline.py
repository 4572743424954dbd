"""A team's pairs, and divergences that it has accepted: by the command line and by pytest."""

import json
import os
import subprocess
import sys

import pytest
from tests.e2e.test_cli_check import _save, isomorph

PROJECT = """
[pairs.good]
reference = "a.onnx"
candidate = "same.onnx"

[pairs.odd]
reference = "a.onnx"
candidate = "wrong.onnx"
"""


@pytest.fixture
def team(tmp_path):
    _save(tmp_path / "a.onnx")
    _save(tmp_path / "same.onnx")
    _save(tmp_path / "wrong.onnx", epsilon=1e-3)
    (tmp_path / "isomorph.toml").write_text(PROJECT)
    return tmp_path


def _accept(team, *more):
    assert isomorph(team, "check", "odd", "--format", "json", "-o", "reports").returncode == 1
    words = ["reports/odd.json", "--why", "too small to matter", "--who", "Ada", *more]
    return isomorph(team, "accept", *words)


def test_without_arguments_every_pair_is_checked_and_the_gravest_decides(team):
    done = isomorph(team, "check")
    assert done.returncode == 1, done.stderr
    assert "good: EQUIVALENT" in done.stdout
    assert "odd: DIVERGENT" in done.stdout
    assert isomorph(team, "check", "good").returncode == 0


def test_several_reports_do_not_make_one_document(team):
    done = isomorph(team, "check", "--format", "junit")
    assert done.returncode == 2
    assert "error[BAD_OPTION]" in done.stderr
    assert not done.stdout
    done = isomorph(team, "check", "-o", "all.html")
    assert done.returncode == 2
    assert "-o all --format html" in done.stderr
    assert not (team / "all.html").exists()
    done = isomorph(team, "check", "--format", "junit", "-o", "reports")
    assert done.returncode == 1, done.stderr
    assert {path.name for path in (team / "reports").iterdir()} == {"good.xml", "odd.xml"}


def test_a_baseline_that_is_named_begins_with_the_first_acceptance(team):
    (team / "isomorph.toml").write_text('baseline = "known.toml"\n' + PROJECT)
    done = isomorph(team, "check", "odd", "--format", "json", "-o", "odd.json")
    assert done.returncode == 1, done.stderr
    assert (team / "odd.json").is_file(), "one report goes into the file that is named"
    assert isomorph(team, "accept", "odd.json", "--why", "x").returncode == 0
    assert (team / "known.toml").is_file()
    done = isomorph(team, "check", "odd")
    assert done.returncode == 0
    assert "is unchanged" in done.stdout


def test_the_command_line_goes_before_the_project_file(team):
    done = isomorph(team, "check", "odd", "--seed", "7", "--budget", "100", "--format", "json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["seed"] == 7
    (team / "same.onnx").write_bytes(b"")
    done = isomorph(team, "check", "good", "--format", "github")
    assert (done.returncode, done.stdout) == (2, "")
    assert "good: error[MODEL_EMPTY]" in done.stderr
    done = isomorph(team, "check", "god")
    assert done.returncode == 2
    assert "the pairs: good, odd" in done.stderr


def test_without_a_project_nothing_was_checked(tmp_path):
    done = isomorph(tmp_path, "check")
    assert done.returncode == 2
    assert "error[NOTHING_TO_CHECK]" in done.stderr


def test_a_broken_model_does_not_keep_the_others_from_being_checked(team):
    (team / "same.onnx").write_bytes(b"")
    done = isomorph(team, "check")
    assert done.returncode == 2
    assert "good: error[MODEL_EMPTY]" in done.stdout
    assert "odd: DIVERGENT" in done.stdout


def test_an_accepted_divergence_passes_until_it_gets_worse_or_expires(team):
    done = _accept(team, "--until", "2999-12-31")
    assert done.returncode == 0, done.stderr
    done = isomorph(team, "check", "odd", "--format", "json")
    assert done.returncode == 0, done.stdout
    (status,) = json.loads(done.stdout)["baseline"]["statuses"]
    assert (status["state"], status["accepted"]["who"]) == ("unchanged", "Ada")
    assert json.loads(done.stdout)["verdict"] == "divergent", "accepted is not the same"

    _save(team / "wrong.onnx", epsilon=3e-2)
    worse = isomorph(team, "check", "odd")
    assert worse.returncode == 1
    assert "is worse" in worse.stdout

    _save(team / "wrong.onnx", epsilon=1e-5)
    fixed = isomorph(team, "check", "odd")
    assert fixed.returncode == 0
    assert "is fixed" in fixed.stdout

    _save(team / "wrong.onnx", epsilon=1e-3)
    baseline = team / "isomorph.baseline.toml"
    baseline.write_text(baseline.read_text().replace("2999-12-31", "2020-01-01"))
    expired = isomorph(team, "check", "odd")
    assert expired.returncode == 1
    assert "is expired" in expired.stdout


def test_only_a_measured_divergence_can_be_accepted(team):
    assert isomorph(team, "check", "good", "--format", "json", "-o", "reports").returncode == 0
    done = isomorph(team, "accept", "reports/good.json", "--why", "x")
    assert done.returncode == 2
    assert "error[NOTHING_TO_ACCEPT]" in done.stderr
    for words, code in (
        (["nowhere.json", "--why", "x"], "FILE_NOT_FOUND"),
        (["isomorph.toml", "--why", "x"], "REPORT_UNREADABLE"),
        (["reports/good.json", "--why", " "], "BAD_OPTION"),
        (["reports/good.json", "--why", "x", "--until", "soon"], "BAD_OPTION"),
    ):
        done = isomorph(team, "accept", *words)
        assert done.returncode == 2
        assert f"error[{code}]" in done.stderr
    assert not (team / "isomorph.baseline.toml").exists()


TESTS = """
import pytest

@pytest.mark.parametrize("candidate", ["same.onnx", "wrong.onnx"])
def test_pair(assert_equivalent, candidate):
    assert_equivalent("a.onnx", candidate)

def test_isomorph_is_imported_as_it_is():
    import isomorph.testing
    assert "Rewriting" not in repr(isomorph.testing.__spec__.loader)
"""


def _pytest(folder, *words):
    # This run has set where the reports of its child processes go.
    env = {key: value for key, value in os.environ.items() if not key.startswith("ISOMORPH_")}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:anyio", "test_models.py", *words],
        cwd=folder, capture_output=True, text=True, timeout=300, check=False, env=env,
    )  # fmt: skip


def test_a_failing_assertion_names_node_cause_fix_and_report(team):
    (team / "test_models.py").write_text(TESTS)
    done = _pytest(team, "-n", "2")
    assert done.returncode == 1, done.stdout
    assert "1 failed, 2 passed" in done.stdout
    for text in ("node: norm", "cause: attribute", "repair: isomorph fix", "report: "):
        assert text in done.stdout, done.stdout
    (report,) = (team / ".pytest_cache" / "isomorph").glob("*wrong.onnx*.json")
    assert str(report) in done.stdout

    words = ["--why", "known", "--who", "Ada", "--baseline", "known.toml"]
    assert isomorph(team, "accept", report, *words).returncode == 0
    again = _pytest(team, "--lf", "-x", "--isomorph-baseline", "known.toml")
    assert again.returncode == 0, again.stdout
    assert "1 passed" in again.stdout
