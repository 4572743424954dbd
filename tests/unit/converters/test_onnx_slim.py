"""Passes of onnxslim are left out by name, and its plain call makes the same file."""

import numpy as np
import onnx
from onnx import numpy_helper, parser

from isomorph.converters.onnx_slim import OnnxSlim
from isomorph.core.conversion import Order
from isomorph.core.converter_abilities import WITHOUT_PASSES

MODEL = (
    '<ir_version: 8, opset_import: ["": 17]> net (float[2,4] x) => (float[2,3] y) '
    "{ m = MatMul (x, w)  y = Add (m, b) }"
)


def converted(tmp_path, options):
    model = parser.parse_model(MODEL)
    for name, shape in (("w", (4, 3)), ("b", (3,))):
        model.graph.initializer.append(
            numpy_helper.from_array(np.arange(np.prod(shape), dtype="f4").reshape(shape), name)
        )
    source, target = tmp_path / "source.onnx", tmp_path / "target.onnx"
    onnx.save(model, source)
    OnnxSlim().convert(Order(source=str(source), target=str(target), example="", options=options))
    return source, target


def operators(path):
    return [node.op_type for node in onnx.load(path).graph.node]


def test_a_pass_that_is_left_out_does_nothing(tmp_path):
    assert "FusionGemm" in OnnxSlim().passes()
    assert operators(converted(tmp_path, {})[1]) == ["Gemm"]
    left_out = {WITHOUT_PASSES: "FusionGemm\nFusionConvBN"}
    assert operators(converted(tmp_path, left_out)[1]) == ["MatMul", "Add"]


def test_the_plain_call_writes_the_same_bytes(tmp_path):
    for options in ({}, {WITHOUT_PASSES: "FusionGemm"}):
        source, target = converted(tmp_path, options)
        names = {"source": str(source), "target": str(tmp_path / "plain.onnx")}
        exec("\n".join(OnnxSlim().conversion_lines(options)), names)
        assert (tmp_path / "plain.onnx").read_bytes() == target.read_bytes()
