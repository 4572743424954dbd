import os
import subprocess
import sys
from pathlib import Path

import pytest

from isomorph import api
from isomorph.__main__ import main
from isomorph.api.option_keywords import CheckKeywords, with_keywords
from isomorph.core.coverage import Coverage, OutputCoverage
from isomorph.core.divergence import Verdict
from isomorph.core.errors import RefusedError
from isomorph.core.report import Report

COVERED = Coverage(given=1, values=4, outputs=(OutputCoverage(output="y", within=1),))


@pytest.fixture
def answers(monkeypatch):
    """Lets a test decide what the API answers; keeps how it was asked."""
    asked = {}

    def install(answer):
        def check(*models, **words):
            asked.update(words, models=models)
            if isinstance(answer, BaseException):
                raise answer
            return answer

        monkeypatch.setattr(api, "check", check)
        return asked

    return install


def _options(asked):
    """The options that the keywords of the call make up."""
    stated = {name: asked[name] for name in CheckKeywords.__annotations__ if name in asked}
    return with_keywords(api.CheckOptions(), stated)


def _report(verdict, **more):
    return Report(
        verdict=verdict,
        reason="because",
        command="check",
        seed=0,
        draws=1,
        false_alarm=0.1,
        coverage=COVERED,
        **more,
    )


@pytest.mark.parametrize(
    ("verdict", "code"), [("equivalent", 0), ("degraded", 0), ("divergent", 1), ("unknown", 3)]
)
def test_the_verdict_decides_the_exit_code(answers, capsys, verdict, code):
    answers(_report(Verdict(verdict)))
    assert main(["check", "a", "b"]) == code
    assert capsys.readouterr().out.startswith(verdict.upper())


def test_the_words_reach_the_api(answers):
    asked = answers(_report(Verdict.EQUIVALENT))
    line = ["check", "a.pt2", "b.onnx", "--inputs", "x.npz", "--runtime", "candidate=onnxruntime",
            "--set", "candidate.threads=2", "--dim", "batch=3", "--budget", "y=0.5", "--seed", "4",
            "--strict", "--trust", "--in-process", "--memory", "1GiB", "--timeout", "9",
            "--bind-input", "x=z", "--bind-output", "y=w", "--state", "w.safetensors"]  # fmt: skip
    assert main(line) == 0
    assert asked["models"] == ("a.pt2", "b.onnx")
    assert str(asked["inputs"]) == "x.npz"
    assert (asked["dims"], asked["budget"], asked["seed"]) == ({"batch": 3}, {"y": 0.5}, 4)
    assert asked["trust"] is asked["in_process"] is True
    assert _options(asked) == api.CheckOptions(
        align=None,
        strict=True,
        bind_inputs={"x": "z"},
        bind_outputs={"y": "w"},
        runtime=api.RuntimeOptions(
            name={"candidate": "onnxruntime"},
            settings={"candidate.threads": "2"},
            state=Path("w.safetensors"),
            limits=api.Limits(memory=2**30, timeout=9.0),
        ),
    )


def test_an_error_of_ours_is_its_own_lines(answers, capsys):
    answers(RefusedError("UNSAFE_PICKLE", "would run code", file="a\x1b.pt", fix="--trust"))
    assert main(["check", "a", "b"]) == 4
    assert capsys.readouterr().err == (
        "error[UNSAFE_PICKLE] would run code in a\\x1b.pt\n  fix: --trust\n"
    )


def test_a_bug_of_ours_is_reported_without_a_traceback(answers, capsys):
    answers(ZeroDivisionError("dividing"))
    assert main(["check", "a", "b"]) == 70
    text = capsys.readouterr().err
    assert text.startswith("error[BUG] ZeroDivisionError: dividing\n")
    assert "Traceback" not in text


def test_debug_shows_the_traceback(answers, capsys):
    answers(ZeroDivisionError("dividing"))
    assert main(["check", "a", "b", "--debug"]) == 70
    assert "Traceback" in capsys.readouterr().err


def test_an_interruption_is_130(answers):
    answers(KeyboardInterrupt())
    assert main(["check", "a", "b"]) == 130


def test_the_report_goes_to_the_file_that_was_named(answers, tmp_path, capsys):
    answers(_report(Verdict.DIVERGENT))
    target = tmp_path / "r.json"
    assert main(["check", "a", "b", "--format", "json", "--output", str(target)]) == 1
    assert '"verdict": "divergent"' in target.read_text()
    assert capsys.readouterr().out == f"DIVERGENT  because\nwritten to {target}\n"


@pytest.mark.parametrize(
    "line",
    [["chek"], ["check"], ["check", "a", "b", "c"], ["check", "a", "--bogus"], [],
     ["check", "a", "--format", "jsn"], ["check", "a", "--seed", "-1"],
     ["check", "a", "--dim", "x"]],
)  # fmt: skip
def test_wrong_use_is_2_with_an_error(answers, line, capsys):
    answers(_report(Verdict.EQUIVALENT))
    assert main(line) == 2
    out, err = capsys.readouterr()
    assert "error[" in err or "Usage:" in out
    assert "Traceback" not in err


def test_a_hopeless_output_is_refused_before_the_check(answers, tmp_path):
    asked = answers(_report(Verdict.EQUIVALENT))
    assert main(["check", "a", "b", "--output", str(tmp_path / "no" / "r.json")]) == 2
    assert not asked


def test_what_is_stated_goes_before_the_project_file_even_if_it_is_the_default(
    answers, tmp_path, monkeypatch
):
    lines = ["[pairs.p]", 'reference = "a"', 'candidate = "b"', "seed = 7", "locate = false"]
    (tmp_path / "isomorph.toml").write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path)
    asked = answers(_report(Verdict.EQUIVALENT))
    assert main(["check", "p"]) == 0
    assert (asked["seed"], _options(asked).locate) == (7, False)
    assert main(["check", "p", "--seed", "0", "--locate"]) == 0
    assert (asked["seed"], _options(asked).locate) == (0, True)


@pytest.mark.parametrize(("words", "code"), [(["--version"], 0), (["nope"], 2)])
def test_closed_streams_leave_the_exit_code(monkeypatch, words, code):
    with monkeypatch.context() as patched:
        patched.setattr(sys, "argv", ["isomorph", *words])
        patched.setattr(sys, "stdout", None)
        patched.setattr(sys, "stderr", None)
        patched.setattr("isomorph.__main__._heed_signals", lambda: None)
        found = main()
        sys.stdout.close()
        sys.stderr.close()
    assert found == code


@pytest.mark.parametrize("word", ["x", "-1", "²", ""])
def test_a_count_of_nodes_is_a_number_or_auto(capsys, word):
    assert main(["fix", "a", "b", "--keep-float", word]) == 2
    assert capsys.readouterr().err.startswith("error[BAD_COUNT]")


@pytest.mark.parametrize(("stated", "seen"), [({}, "4"), ({"OPENBLAS_THREAD_TIMEOUT": "20"}, "20")])
def test_idle_threads_sleep_soon_unless_the_user_decided_it(stated, seen):
    program = (
        "import os, sys; sys.argv = ['isomorph', '--version']; from isomorph.__main__ import main; "
        "main(); print(os.environ['OPENBLAS_THREAD_TIMEOUT'])"
    )
    usual = {key: each for key, each in os.environ.items() if key != "OPENBLAS_THREAD_TIMEOUT"}
    ran = subprocess.run(
        [sys.executable, "-c", program], env={**usual, **stated}, check=True, capture_output=True,
        text=True,
    )  # fmt: skip
    assert ran.stdout.splitlines()[-1] == seen
