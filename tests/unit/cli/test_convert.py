"""The command: plans are shown, wrong words refused, before anything is converted."""

import pytest
from onnx import TensorProto, helper, save

from isomorph.__main__ import main


@pytest.fixture
def model(tmp_path):
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"], name="positive")],
        "relu",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])],
    )
    path = tmp_path / "relu.onnx"
    opset = [helper.make_opsetid("", 18)]
    save(helper.make_model(graph, opset_imports=opset, ir_version=9), path)
    return path


def test_a_plan_shows_the_routes_and_converts_nothing(model, tmp_path, capsys):
    target = tmp_path / "relu.tflite"
    assert main(["convert", str(model), str(target), "--plan"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("onnx → tflite (onnx_to_tflite)")
    assert lines[1].startswith("onnx → tensorflow → tflite (")
    assert not target.exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["relu.h264"], "names no format"),
        (["relu.tflite", "--quantize", "int3"], "--quantize 'int3' is not known"),
        (["relu.tflite", "--via", "nonsense"], "no format or converter 'nonsense'"),
        (["relu.tflite", "--to", "pytorch"], "no converter leads from onnx to pytorch"),
        (["nowhere/relu.tflite"], "folder of the output does not exist"),
        (["relu.tflite", "--format", "xml"], "one of: terminal, json"),
        (["relu.tflite", "--dims", "batch=x"], "--dims 'batch=x' cannot be read"),
    ],
)
def test_wrong_words_are_refused_at_once(model, tmp_path, capsys, words, message):
    target, *rest = words
    assert main(["convert", str(model), str(tmp_path / target), *rest]) == 2
    assert message in capsys.readouterr().err


def test_the_source_is_never_the_target(model, capsys):
    assert main(["convert", str(model), str(model)]) == 4
    assert "OUTPUT_IS_INPUT" in capsys.readouterr().err
