"""The verb and its four formats."""

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from isomorph.__main__ import main
from isomorph.core.lint import Lint, Remark, Severity
from isomorph.core.model import Source
from isomorph.core.report import ModelSummary
from isomorph.reporters.lint_formats import github, lines, sarif


@pytest.fixture
def training(tmp_path):
    """A file with a BatchNorm in training mode, and a weight that no node reads."""
    weights = {
        name: np.ones(3, np.float32) for name in ("scale", "bias", "mean", "variance", "unused")
    }
    graph = helper.make_graph(
        [
            helper.make_node(
                "BatchNormalization",
                ["x", "scale", "bias", "mean", "variance"],
                ["y", "m", "v"],
                name="norm",
                training_mode=1,
            )
        ],
        "training",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 4, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3, 4, 4])],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    path = tmp_path / "training.onnx"
    opset = [helper.make_opsetid("", 18)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=9), path)
    return path


def test_errors_are_exit_one_and_come_first(training, capsys):
    assert main(["lint", str(training)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "error[ISO108] BatchNormalization is in training mode"
    assert lines[1] == "  at   node norm"
    assert any("ISO116" in line and "unused" in line for line in lines)


def test_ignored_rules_yield_no_remark(training, capsys):
    assert main(["lint", str(training), "--ignore", "ISO108,unused_weight"]) == 0
    out = capsys.readouterr().out
    assert "skipped  rule ISO108: --ignore leaves it out" in out
    assert "error[" not in out


def test_json_has_every_remark(training, capsys):
    assert main(["lint", str(training), "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "isomorph.lint/1"
    assert {each["code"] for each in document["remarks"]} >= {"ISO108", "ISO116"}


def test_sarif_names_rule_place_and_level(training, tmp_path):
    target = tmp_path / "lint.sarif"
    assert main(["lint", str(training), "--format", "sarif", "-o", str(target)]) == 1
    (run,) = json.loads(target.read_text())["runs"]
    first = run["results"][0]
    assert first["level"] == "error"
    assert run["tool"]["driver"]["rules"][first["ruleIndex"]]["id"] == first["ruleId"] == "ISO108"
    assert first["locations"][0]["logicalLocations"] == [{"fullyQualifiedName": "norm"}]


def test_a_name_from_a_model_is_no_workflow_command():
    remark = Remark(
        code="ISO109",
        check="random_operator",
        severity=Severity.WARNING,
        message="evil\n::error::owned, 100%",
        advice="none",
        node="a,b::c",
        source=Source(file="a,b.py", line=3),
    )
    summary = ModelSummary(
        role="model", location="m.onnx", framework="onnx", digest="", nodes=0, constants=0
    )
    (line,) = github(Lint(model=summary, to=None, width="", remarks=(remark,)))
    assert "\n" not in line
    assert line.startswith("::warning file=a%2Cb.py,title=ISO109,line=3::evil%0A::error::owned")
    assert "100%25" in line
    assert sarif(Lint(model=summary, to=None, width="", remarks=()))["runs"][0]["results"] == []


def test_weights_that_are_missing_are_a_remark(tmp_path, training, capsys):
    path = tmp_path / "apart" / "model.onnx"
    path.parent.mkdir()
    onnx.save(
        onnx.load(training), path, save_as_external_data=True, location="w.bin", size_threshold=0
    )
    assert main(["lint", str(path), "--ignore", "ISO108"]) == 0
    assert "note[ISO117] weights lie in other files: w.bin" in capsys.readouterr().out
    (path.parent / "w.bin").unlink()
    assert main(["lint", str(path)]) == 1
    assert "ISO117" in capsys.readouterr().out


def test_an_unknown_format_is_wrong_use(training, capsys):
    assert main(["lint", str(training), "--format", "xml"]) == 2
    assert "one of" in capsys.readouterr().err


def test_equal_remarks_share_one_block():
    summary = ModelSummary(
        role="model", location="m.onnx", framework="onnx", digest="", nodes=9, constants=0
    )
    remarks = tuple(
        Remark(
            code="ISO101", check="unsupported_operator", severity=Severity.WARNING,
            message="Det cannot be converted", advice="do without", node=f"det{place}",
        )
        for place in range(9)
    )  # fmt: skip
    text = list(lines(Lint(model=summary, to="tflite", width="", remarks=remarks)))
    assert text[:2] == ["warning[ISO101] Det cannot be converted", "  at   node det0"]
    assert "       … and 5 more: --format json" in text
    assert text.count("  fix  do without") == 1
    assert text[-1] == "m.onnx: 9 warnings on the way to tflite"
