"""A bias of whole numbers that a quantizer lost is computed from the reference's."""

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from isomorph import api
from onnx_pairs import model, node

RNG = np.random.default_rng(7)
WEIGHT = RNG.normal(size=(4, 3, 3, 3)).astype(np.float32)
BIAS = (3.0 * RNG.normal(size=4)).astype(np.float32)
X = RNG.normal(size=(1, 3, 8, 8)).astype(np.float32)
SHAPES = {"x": [1, 3, 8, 8]}, {"y": [1, 4, 6, 6]}


def reference():
    return model([node("Conv", "x w b", "y")], *SHAPES, {"w": WEIGHT, "b": BIAS})


def quantized(bias):
    """The same convolution on bytes; ``bias`` is what becomes of its bias, None for nothing."""
    data, weight = np.float32(8 / 255), np.float32(np.abs(WEIGHT).max() / 63)
    out = np.float32(64 / 255)
    stored = {
        "sx": data, "zx": np.uint8(128), "sw": weight, "zw": np.int8(0), "sy": out,
        "zy": np.uint8(128), "q": np.rint(WEIGHT / weight).astype(np.int8),
    }  # fmt: skip
    if bias is not None:
        stored["b"] = bias(np.rint(BIAS / (data * weight)).astype(np.int32))
    reads = "xq sx zx q sw zw sy zy" + (" b" if bias is not None else "")
    nodes = [
        node("QuantizeLinear", "x sx zx", "xq"), node("QLinearConv", reads, "yq"),
        node("DequantizeLinear", "yq sy zy", "y"),
    ]  # fmt: skip
    return model(nodes, *SHAPES, stored)


@pytest.mark.parametrize("lost", [np.zeros_like, None], ids=["zeroed", "left_out"])
def test_a_lost_bias_is_put_back(tmp_path, lost):
    onnx.save(reference(), tmp_path / "r.onnx")
    onnx.save(quantized(lost), tmp_path / "c.onnx")
    paths = tmp_path / "r.onnx", tmp_path / "c.onnx"
    repair = api.fix(*paths, output=tmp_path / "f.onnx", inputs={"x": X}, in_process=True)
    assert repair.repaired, (repair.reason, repair.refused, repair.advice)
    fixed = onnx.load(tmp_path / "f.onnx")
    made = next(each for each in fixed.graph.node if each.op_type == "QLinearConv")
    stored = {each.name: numpy_helper.to_array(each) for each in fixed.graph.initializer}
    right = numpy_helper.to_array(
        next(each for each in quantized(np.copy).graph.initializer if each.name == "b")
    )
    assert np.abs(stored[made.input[8]] - right).max() <= 1
