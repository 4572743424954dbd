"""``isomorph prove`` from the command line."""

import json

import onnx
import pytest
from onnx import parser

from isomorph.__main__ import main


@pytest.fixture
def models(tmp_path):
    head = '<ir_version: 10, opset_import: ["": 21]> g (float[2,3] x) => (float[2,3] y) '
    bodies = {"a": "{ y = Relu(x) }", "b": "{ z = Identity(x) y = Relu(z) }", "c": "{ y = Abs(x) }"}
    for name, body in bodies.items():
        onnx.save(parser.parse_model(head + body), tmp_path / f"{name}.onnx")
    return tmp_path


def run(models, *words):
    return main(["prove", str(models / "a.onnx"), *words, "--in-process"])


def test_equal_models_exit_with_0(models, capsys):
    assert run(models, str(models / "b.onnx")) == 0
    assert "EQUIVALENT for every input of these shapes: x [2, 3]" in capsys.readouterr().out


def test_open_ones_exit_with_3_and_the_document_names_the_node(models):
    target = models / "proof.json"
    assert run(models, str(models / "c.onnx"), "--format", "json", "-o", str(target)) == 3
    document = json.loads(target.read_text(encoding="utf-8"))
    assert document["schema"] == "isomorph.proof/1"
    assert document["outputs"][0]["standing"] == "open"
    assert document["outputs"][0]["open"]["op"] == "Abs"


def test_a_format_that_is_none_is_wrong_use(models):
    assert run(models, str(models / "b.onnx"), "--format", "sarif") == 2
