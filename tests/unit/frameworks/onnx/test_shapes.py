"""A model that inference rejects keeps what the file declares."""

import onnx

from isomorph.frameworks.onnx.read import open_bytes
from isomorph.frameworks.onnx.shapes import infer

TEXT = """<ir_version: 9, opset_import: ["": 18, "own": 1]>
net (float[2] x) => (float[2] y) { y = own.twice (x) }
<domain: "own", opset_import: ["": 18]> twice (a) => (b) { b = Add (a, a) }"""


def test_two_functions_of_one_name_are_noted_as_a_contradiction():
    model = onnx.parser.parse_model(TEXT)
    model.functions.append(model.functions[0])
    inferred = infer(open_bytes(model.SerializeToString()).model)
    assert "contradiction" in inferred.notes[0]
    assert [each.name for each in inferred.graph.output] == ["y"]
