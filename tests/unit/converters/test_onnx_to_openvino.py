"""OpenVINO's files from ONNX: full precision, or weights in float16."""

from dataclasses import replace

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from isomorph import registry
from isomorph.core.conversion import Order

pytest.importorskip("openvino")


@pytest.fixture
def order(tmp_path):
    draw = np.random.default_rng(0)
    weights = draw.standard_normal((6, 5)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"], name="product")],
        "dense",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 6])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 5])],
        [numpy_helper.from_array(weights, "w")],
    )
    source = tmp_path / "dense.onnx"
    opset = [helper.make_opsetid("", 18)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=9), source)
    np.savez(tmp_path / "x.npz", x=draw.standard_normal((2, 6)).astype(np.float32))
    return Order(
        source=str(source), target=str(tmp_path / "dense.xml"), example=str(tmp_path / "x.npz")
    )


def weights(order):
    model = registry.framework("openvino").load(order.target, {})
    return {(each.dtype, tuple(sorted(each.shape))) for each in model.graph.constants.values()}


def test_the_files_are_written_with_their_weights_as_they_were(order):
    assert registry.converter("onnx_to_openvino").convert(order) == ("weights as they were",)
    assert ("float32", (5, 6)) in weights(order)


def test_weights_in_float16_where_that_is_asked_for(order):
    (note,) = registry.converter("onnx_to_openvino").convert(replace(order, width="float16"))
    assert "float16" in note
    assert ("float16", (5, 6)) in weights(order)
