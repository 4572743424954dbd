"""``isomorph fix REPORT`` repeats the check of the report, and needs no option again."""

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import isomorph
from isomorph.__main__ import main
from isomorph.core.request import FileRole
from isomorph.reporters.json import as_json
from isomorph.store.reports import read_report

HEAD = '<ir_version: 9, opset_import: ["" : 20]>'
BODY = """
    g (float[2,3,6,6] NAME) => (float[2,4,6,6] y) {
        [conv] a = Conv <pads: ints = [1,1,1,1]> (NAME, w)
        [leak] b = LeakyRelu <alpha: float = ALPHA> (a)
        [bend] y = Elu <alpha: float = 1.0> (b)
    }
"""
CHECK = ["check", "reference.onnx", "candidate.onnx", "--inputs", "x.npz", "--in-process"]
KEPT = ["--format", "json", "-o", "report.json"]


def _drawn(*shape):
    return np.random.default_rng(shape).standard_normal(shape).astype(np.float32)


def _model(path, alpha, name="x"):
    text = BODY.replace("NAME", name).replace("ALPHA", str(alpha))
    proto = onnx.parser.parse_model(f"{HEAD} {text}")
    proto.graph.initializer.append(numpy_helper.from_array(_drawn(4, 3, 3, 3), "w"))
    onnx.save(proto, path)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A faulty pair and its inputs, in the working directory."""
    monkeypatch.chdir(tmp_path)
    _model("reference.onnx", 0.05)
    _model("candidate.onnx", 0.2)
    np.savez("x.npz", x=_drawn(2, 3, 6, 6))
    return tmp_path


def _fixed(*words):
    """The JSON of ``isomorph fix`` on the report."""
    line = ["fix", "report.json", "--in-process", "--format", "json", "--report", "fixed.json"]
    code = main([*line, *words])
    return code, json.loads(Path("fixed.json").read_text(encoding="utf-8"))


def test_a_report_names_the_files_and_options_that_it_was_made_from(folder):
    stated = ["--set", "candidate.threads=1", "--budget", "1e-9", "--seed", "7",
              "--bind-input", "x=x", "--layout", "x=0,1,2,3"]  # fmt: skip
    assert main([*CHECK, *stated, *KEPT]) == 1
    report = read_report(folder / "report.json")
    request, inputs = report.request, report.request.file(FileRole.INPUTS)
    assert (request.directory, inputs.location) == (str(folder), "x.npz")
    assert inputs.digest.startswith("sha256:")
    assert request.settings == {"candidate.threads": "1"}
    assert (request.budgets, report.seed) == ({"": 1e-9}, 7)
    assert (request.bind_inputs, request.layouts) == ({"x": "x"}, {"x": (0, 1, 2, 3)})
    assert request.file(FileRole.STATE) is None


def test_the_repair_of_a_report_needs_no_option_again(folder, monkeypatch):
    _model("candidate.onnx", 0.2, name="z")
    assert main([*CHECK, "--bind-input", "x=z", "--seed", "3", *KEPT]) == 1
    whole = isomorph.fix("reference.onnx", "candidate.onnx", inputs="x.npz", seed=3,
                         bind_inputs={"x": "z"}, in_process=True)  # fmt: skip
    code, repair = _fixed()
    assert (code, repair["notes"]) == (0, [])
    assert repair["seed"] == 3
    assert [each["summary"] for each in repair["patches"]] == [
        each.patch.summary for each in whole.applied
    ]
    before = [each.origin for each in whole.proof.before]
    assert [each["origin"] for each in repair["before"]] == before
    monkeypatch.chdir(folder.parent)
    done = isomorph.fix(folder / "report.json", in_process=True)
    assert (done.repaired, done.notes) == (True, ()), "from another directory, too"


def test_a_report_that_was_moved_with_its_files_is_found_beside_them(folder, tmp_path_factory):
    assert main([*CHECK, *KEPT]) == 1
    other = tmp_path_factory.mktemp("elsewhere") / "moved"
    folder.rename(other)
    try:
        done = isomorph.fix(other / "report.json", in_process=True)
    finally:
        other.rename(folder)
    assert (done.repaired, done.notes) == (True, ())


@pytest.mark.parametrize("changed", ["x.npz", "candidate.onnx"])
def test_a_file_that_changed_is_named_in_one_line(folder, capsys, changed):
    assert main([*CHECK, *KEPT]) == 1
    if changed == "x.npz":
        np.savez("x.npz", x=_drawn(2, 3, 6, 6) * 2)
    else:
        _model("candidate.onnx", 0.4)
    capsys.readouterr()
    assert main(["fix", "report.json", "--in-process"]) == 0
    notes = [line for line in capsys.readouterr().out.splitlines() if line.startswith("note ")]
    assert notes == [f"note    {changed} has changed since the report"]


def test_another_option_is_noted_and_the_faults_are_searched_for_again(folder):
    assert main([*CHECK, *KEPT]) == 1
    code, repair = _fixed("--set", "candidate.threads=1")
    assert code == 0
    assert repair["notes"] == [
        "settings differ from the report, so the faults are searched for again"
    ]


def test_inputs_that_no_file_holds_are_asked_for(folder):
    report = isomorph.check("reference.onnx", "candidate.onnx", inputs=dict(np.load("x.npz")),
                            in_process=True)  # fmt: skip
    (folder / "report.json").write_text(as_json(report))
    assert _fixed()[1]["notes"] == [
        "the report names no file of its inputs; give them with --inputs"
    ]
    assert _fixed("--inputs", "x.npz")[1]["notes"] == []


def test_trust_is_not_taken_from_a_report(folder):
    assert main([*CHECK, "--trust", *KEPT]) == 1
    text = (folder / "report.json").read_text(encoding="utf-8")
    assert '"trust"' not in text
