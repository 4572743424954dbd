"""Between operators on integers no node shows real numbers, and yet each is looked at by itself."""

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import isomorph

X = np.random.default_rng(5).standard_normal((1, 3, 8, 8)).astype(np.float32)


@pytest.mark.parametrize(
    ("place", "broken", "cause"),
    [
        (3, lambda values: values[:, ::-1], "weight"),
        (4, lambda values: values * np.float32(1.5), "quantization"),
        (5, lambda values: values + np.int8(9), "quantization"),
        (2, lambda values: values + np.uint8(40), "quantization"),
    ],
    ids=["integers", "scale", "zero", "read"],
)
def test_the_operator_itself_is_named_and_repaired(
    tmp_path, quantized_networks, place, broken, cause
):
    model = onnx.load(quantized_networks / "qop.onnx")
    convs = [node for node in model.graph.node if node.op_type == "QLinearConv"]
    name = convs[1].input[place]
    stored = next(each for each in model.graph.initializer if each.name == name)
    wrong = np.ascontiguousarray(broken(numpy_helper.to_array(stored)))
    model.graph.initializer.append(numpy_helper.from_array(wrong, "its_own"))
    convs[1].input[place] = "its_own"
    path = tmp_path / "broken.onnx"
    onnx.save(model, path)
    pair, given = (quantized_networks / "net.onnx", path), {"x": X}
    found = isomorph.check(*pair, inputs=given, in_process=True).findings[0]
    assert (found.node, found.cause) == (convs[1].name, cause)
    repair = isomorph.fix(*pair, output=tmp_path / "f.onnx", inputs=given, in_process=True)
    assert repair.repaired, repair.reason
