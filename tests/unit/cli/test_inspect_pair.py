import json
import re
from dataclasses import replace

import pytest

from isomorph import api
from isomorph.__main__ import main
from isomorph.core.model import Graph, Model, Quantization, TensorSpec
from isomorph.core.model_diff import AttributePair, ModelDiff, OpsetPair, QuantizationPair, SpecPair


@pytest.fixture
def contrast(monkeypatch):
    x = TensorSpec(name="x", dtype="float32", shape=("batch", 3))
    coarse = Quantization(tensor="w", dtype="int8", scale=(0.5, 0.25), zero_point=(0, 0), axis=1)
    graph = Graph(name="g", inputs=(x,), outputs=(), nodes=(), tensors={}, constants={},
                  quantization=(coarse,))  # fmt: skip
    model = Model(framework="onnx", location="a.onnx", digest="d", graph=graph, native=object(),
                  opset={"": 18})  # fmt: skip
    found = ModelDiff(
        reference=model,
        candidate=replace(model, location="b\x1b[2J.onnx", opset={"": 21}),
        inputs=(
            SpecPair(kind="input", reference=x, candidate=replace(x, name="y", dtype="int8"),
                     how="the only one left", changed=("name", "dtype")),
            SpecPair(kind="input", reference=None, candidate=x, how="not paired"),
        ),
        opsets=(OpsetPair(domain="ai.onnx", reference=18, candidate=21),),
        attributes=(
            AttributePair(op="Softmax", reference_node="s", candidate_node="t", name="axis",
                          reference=1, candidate=-2, shown=("1", "-2")),
        ),
        quantization=(
            QuantizationPair(reference=coarse, candidate=None),
            QuantizationPair(reference=coarse, candidate=coarse),
            QuantizationPair(
                reference=coarse,
                candidate=Quantization(tensor="v", dtype="int8", scale=(0.125,), zero_point=(7,)),
                changed=("axis", "scale", "zero_point"),
            ),
        ),
    )  # fmt: skip
    monkeypatch.setattr(api, "diff", lambda left, right, **words: found)
    return found


def test_two_models_stand_next_to_each_other(contrast, capsys):
    assert main(["inspect", "a.onnx", "b.onnx"]) == 0
    text = capsys.readouterr().out
    rows = {line.split("  ")[1]: line for line in text.splitlines() if line.startswith("  ")}
    assert rows["opset ai.onnx"].split()[-3:] == ["18", "21", "yes"]
    assert "b\\x1b[2J.onnx" in text
    assert "name, dtype (by the only one left)" in text
    assert "not paired" in text
    assert "1 attribute differs" in text
    assert rows["s / t (Softmax)"].split() == ["s", "/", "t", "(Softmax)", "axis", "1", "-2"]
    assert "3 quantized tensors: 1 changed, 1 on one side only" in text
    assert "2 scales 0.25 to 0.5 along axis 1" in text
    listed = text.partition("quantized tensors:")[2].splitlines()[2:]
    assert listed[0].startswith("  w / v")
    assert re.split(r" {2,}", listed[0])[3:] == [
        "int8, scale 0.125, zero point 7", "axis, scale, zero point",
    ]  # fmt: skip


def test_the_whole_contrast_as_json(contrast, capsys):
    assert main(["inspect", "a.onnx", "b.onnx", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "isomorph.contrast/1"
    assert document["contrast"]["candidate"]["native"] is None
    assert document["contrast"]["quantization"][2]["changed"] == ["axis", "scale", "zero_point"]


def test_nodes_are_listed_of_one_model_only(contrast, capsys):
    assert main(["inspect", "a.onnx", "b.onnx", "--nodes"]) == 2
    assert "error[BAD_OPTION]" in capsys.readouterr().err
