"""OpenVINO's files: full precision, and the same bits as the source."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from isomorph import registry
from isomorph.core.conversion import Order
from isomorph.core.errors import RuntimeFailedError

openvino = pytest.importorskip("openvino")


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


def test_the_files_are_written_and_give_the_same_bits(order, tmp_path):
    (note,) = registry.converter("onnx_to_openvino").convert(order)
    assert "the same bits" in note
    assert (tmp_path / "dense.xml").is_file()
    # Six by five weights in float32, not in the float16 that OpenVINO saves by default.
    assert (tmp_path / "dense.bin").stat().st_size >= 6 * 5 * 4


def test_weights_rounded_to_float16_are_noticed(order, monkeypatch):
    save = openvino.save_model

    def as_usual(model, path, compress_to_fp16):
        save(model, path)

    monkeypatch.setattr(openvino, "save_model", as_usual)
    with pytest.raises(RuntimeFailedError, match="something else"):
        registry.converter("onnx_to_openvino").convert(order)
