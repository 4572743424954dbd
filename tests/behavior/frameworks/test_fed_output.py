"""What is fed stays, though the node that makes it runs for its other outputs."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from isomorph import registry
from isomorph.core.trace import Environment
from tflite_building import Building

ONNX = """<ir_version: 9, opset_import: ["" : 17]> g (float[4] x) => (float[4] y) {
    a, b = Split<axis=0>(x)  y = Concat<axis=0>(b, a) }"""


def split_in_tflite():
    building = Building()
    graph = building.graph()
    axis = graph.tensor("axis", (), "int32", 0)
    x, y = graph.tensor("x", (4,)), graph.tensor("y", (4,))
    a, b = graph.tensor("a", (2,)), graph.tensor("b", (2,))
    graph.op("SPLIT", [axis, x], [a, b], "Split", numSplits=2)
    graph.op("CONCATENATION", [b, a], [y], "Concatenation", axis=0)
    graph.ends([x], [y])
    return building.data()


@pytest.mark.parametrize("runtime", ["onnx_oracle", "onnxruntime", "tflite_oracle"])
def test_one_output_of_two_is_replaced(runtime, tmp_path):
    if runtime.startswith("tflite"):
        file = tmp_path / "split.tflite"
        file.write_bytes(split_in_tflite())
        model = registry.framework("tflite").load(file, {})
    else:
        model = registry.framework("onnx").load(onnx.parser.parse_model(ONNX), {})
    environment = Environment(runtime=runtime, version="", device="cpu")
    session = registry.runtime(runtime).open(model, environment)
    feeds = {"x": np.arange(4, dtype=np.float32), "b": np.array([30, 40], np.float32)}
    np.testing.assert_array_equal(session.run(feeds, ["y"])["y"], [30, 40, 0, 1])
    session.close()
