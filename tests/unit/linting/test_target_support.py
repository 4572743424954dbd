"""What the installed converters and runtimes can do is asked of them, not written down."""

import json

import pytest

from isomorph import registry
from isomorph.conversion.converter_worker import ConverterWorker
from isomorph.core.lint import Severity
from isomorph.core.rule_examples import linted_model, node, spec
from isomorph.linting import target_support
from isomorph.linting.target_support import abilities


@pytest.fixture(scope="module")
def converter_worker():
    shop = ConverterWorker()
    yield shop
    shop.close()


def test_operators_that_onnx2tf_has_no_module_for(converter_worker):
    model = linted_model(node("Relu"), node("Frobnicate", "y", out="z")).model
    found, skipped = abilities(model, "tflite", "", converter_worker)
    assert found.lacking == {"frobnicate": ("onnx_to_tflite", "onnx_to_tensorflow")}
    assert found.hopeless == {"frobnicate"}
    assert not skipped


def test_the_types_of_litert_were_tried(converter_worker):
    types = set(converter_worker.abilities("runtimes", "tflite")["types"])
    assert {"float32", "int32", "bool"} <= types
    assert not {"float64", "complex64", "bfloat16"} & types


def test_the_kernels_and_opsets_of_onnx_runtime_are_its_own(converter_worker):
    reported = converter_worker.abilities("runtimes", "onnxruntime")
    assert "float32" in reported["kernels"]["Conv"]
    assert "float64" not in reported["kernels"]["Conv"]
    assert reported["opsets"][0] < 18 < reported["opsets"][1]


def test_a_double_is_reported_before_it_reaches_tflite(converter_worker):
    drawn = linted_model(node("Mul"), inputs=(spec("x", "float64"),), to="tflite")
    found, _ = abilities(drawn.model, "tflite", "", converter_worker)
    check = registry.rule("unsupported_type")
    asked = linted_model(node("Mul"), inputs=(spec("x", "float64"),), to="tflite", abilities=found)
    assert [each.severity for each in check.check(asked)] == [Severity.ERROR]


@pytest.mark.parametrize(
    ("converter", "known", "unknown"),
    [
        ("pytorch_to_onnx", "aten.relu.default", "aten.frobnicate.default"),
        ("pytorch_to_tflite", "aten.relu.default", "aten.frobnicate.default"),
        ("tensorflow_to_onnx", "Conv2D", "Frobnicate"),
        ("tensorflow_to_onnx", "Erfc", "Frobnicate"),
        ("tflite_to_onnx", "CONV_2D", "FROBNICATE"),
    ],
)
def test_each_converter_lists_its_operators(converter_worker, converter, known, unknown):
    reported = converter_worker.abilities("converters", converter)["operators"]
    assert known in reported
    assert unknown not in reported


def test_the_older_exporter_lists_families(converter_worker):
    reported = converter_worker.abilities("converters", "pytorch_to_onnx_legacy")["families"]
    assert "aten.relu" in reported
    assert "aten.frobnicate" not in reported


@pytest.mark.parametrize("key", ["operators", "families"])
def test_an_operator_in_place_counts_as_the_one_that_is_not(key):
    reported = {key: ["aten.relu.default" if key == "operators" else "aten.relu"]}
    assert not target_support.lacks(reported, "aten.relu_.default")
    assert target_support.lacks(reported, "aten.tanh_.default")


@pytest.mark.parametrize("key", ["operators", "families"])
def test_the_arithmetic_of_sizes_is_no_operator_that_a_converter_lacks(key):
    reported = {key: ["aten.mul.Tensor" if key == "operators" else "aten.mul"]}
    assert not target_support.lacks(reported, "operator.mul")
    assert target_support.lacks(reported, "aten.frobnicate.default")


def test_nodes_of_one_run_are_not_what_converters_meet(converter_worker):
    met = node("add_", native="aten.frobnicate.default")
    model = linted_model(met, framework="pytorch", runs_python=True).model
    found, skipped = abilities(model, "onnx", "", converter_worker)
    assert not found.lacking
    assert "no exporter meets" in skipped[0].why


def _measured(monkeypatch, tmp_path, **row):
    table = tmp_path / "approximated.json"
    table.write_text(json.dumps({"onnx_to_tflite": {"approximated": [], "refused": [], **row}}))
    monkeypatch.setattr(target_support, "_TABLE", table)
    return target_support._measured(["onnx_to_tflite", "onnx_to_tensorflow"])


def test_what_was_measured_with_another_version_is_not_used(monkeypatch, tmp_path):
    found, skipped = _measured(monkeypatch, tmp_path, measured_with={"numpy": "0.1"})
    assert not found
    assert "numpy 0.1" in skipped[0].why


def test_a_row_applies_to_nodes_of_its_form_alone(monkeypatch, tmp_path):
    cubic = {"op": "Resize", "when": {"mode": "cubic", "(rank)": 4}, "error": 1e-3}
    found, skipped = _measured(
        monkeypatch,
        tmp_path,
        measured_with={},
        approximated=[{"op": "Erf", "when": {}, "error": 1e-7}, cubic],
        refused=[{"op": "Det", "when": {"(dtype)": "float32"}}],
    )
    assert not skipped
    image = spec("x", shape=(1, 3, 4, 4))
    model = linted_model(
        node("Erf", native="ai.onnx::Erf"),
        node("Resize", name="smooth", mode="cubic"),
        node("Resize", name="straight", mode="linear"),
        node("Resize", "flat", name="of another rank", mode="cubic"),
        node("Resize", "strange", name="of no known rank", mode="cubic"),
        node("Det"),
        inputs=(image, spec("flat")),
    ).model
    assert target_support._rows_of(model, found, "approximated") == {
        "erf": {"onnx_to_tflite": 1e-7},
        "smooth": {"onnx_to_tflite": 1e-3},
        "of no known rank": {"onnx_to_tflite": 1e-3},
    }
    assert target_support._rows_of(model, found, "refused") == {"det": {"onnx_to_tflite": 0.0}}


def test_every_converter_was_measured_with_packages_that_are_named():
    known = json.loads(target_support._TABLE.read_text())
    assert known
    for name, row in known.items():
        assert name in registry.names("converters")
        assert row["measured_with"]
        assert all(forms > 0 for forms in row["operators"].values())
        assert row["operators"]
        assert all(each["error"] > 0 for each in row["approximated"])
        assert all(isinstance(each["when"], dict) for each in row["refused"])
