"""What follows a linear node, worked into weights that other frameworks keep otherwise."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from isomorph.diagnose.folded_constants import folded
from isomorph.frameworks.onnx.framework import OnnxFramework

WEIGHT = np.random.default_rng(2).standard_normal((3, 3, 5, 2)).astype(np.float32)
SCALE = np.linspace(0.5, 1.5, 10).astype(np.float32)


def test_a_depthwise_weight_by_input_and_multiplier_is_scaled_by_channel(tmp_path):
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["x", "w"], ["a"], name="depthwise"),
            helper.make_node("Mul", ["a", "s"], ["y"], name="scale"),
        ],
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4, 4, 5])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 4, 10])],
        [numpy_helper.from_array(WEIGHT, "w"), numpy_helper.from_array(SCALE, "s")],
    )
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph), path)
    described = OnnxFramework().load(str(path), {}).graph
    values = {"w": WEIGHT, "s": SCALE}
    context = SimpleNamespace(
        reference=described,
        counterparts=tuple(described.nodes),
        constant=lambda graph, name: values.get(name),
    )
    found = [value for _, value in folded(context)]
    right = WEIGHT.reshape(3, 3, 10) * SCALE
    assert any(value.shape == right.shape and np.allclose(value, right) for value in found)
