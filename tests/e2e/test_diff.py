"""`isomorph diff` as a user types it: real files, real reports."""

import json

import jsonschema
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from described_graphs import weight
from isomorph.reporters.json import schema
from warm_process import isomorph


@pytest.fixture
def pair(tmp_path):
    """A network, and its copy under other names with another slope."""
    for name, prefix, slope in (("one", "", 0.1), ("other", "b_", 0.3)):
        nodes = [
            helper.make_node("MatMul", ["x", "w"], ["p"], name=f"{prefix}product"),
            helper.make_node("LeakyRelu", ["p"], ["r"], name=f"{prefix}bend", alpha=slope),
            helper.make_node("Add", ["r", "x"], ["y"], name=f"{prefix}sum"),
        ]
        specs = [helper.make_tensor_value_info(each, TensorProto.FLOAT, [1, 8]) for each in "xy"]
        graph = helper.make_graph(
            nodes, "g", specs[:1], specs[1:], [numpy_helper.from_array(weight(0), "w")]
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
        onnx.save(model, tmp_path / f"{name}.onnx")
    return tmp_path


def test_two_models(pair):
    ran = isomorph(pair, "diff", "one.onnx", "other.onnx")
    assert ran.returncode == 1
    assert "2 nodes matched (2 renamed), 1 changed" in ran.stdout
    assert "alpha: 0.1 → 0.3" in ran.stdout
    assert isomorph(pair, "diff", "one.onnx", "one.onnx").returncode == 0


def test_two_reports_and_a_mixture(pair):
    for name, other in (("a", "one"), ("b", "other")):
        isomorph(pair, "check", "one.onnx", f"{other}.onnx", "-o", f"{name}.json")
    ran = isomorph(pair, "diff", "a.json", "b.json", "--format", "json")
    assert ran.returncode == 1
    document = json.loads(ran.stdout)
    jsonschema.validate(document, schema("report-diff"))
    assert document["before"]["verdict"] == "equivalent"
    assert document["after"]["verdict"] == "divergent"
    assert {each["presence"] for each in document["findings"]} == {"new"}
    shown = isomorph(pair, "diff", "a.json", "b.json").stdout
    assert "y: equivalent → divergent" in shown
    assert "new     GUILTY_NODE" in shown
    assert isomorph(pair, "diff", "a.json", "a.json").returncode == 0
    missing = isomorph(pair, "diff", "a.json", "none.json")
    assert missing.returncode == 2
    assert "there is no such report: none.json" in missing.stderr
    mixed = isomorph(pair, "diff", "a.json", "one.onnx")
    assert mixed.returncode == 2
    assert "a report cannot be compared with a model" in mixed.stderr
