"""Large weights stay in the file, and nobody notices."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from isomorph.core.errors import UnreadableModelError
from isomorph.core.trace import Environment
from isomorph.frameworks.onnx import lazy_weights
from isomorph.frameworks.onnx.framework import OnnxFramework
from isomorph.frameworks.onnx.oracle import OnnxOracle
from isomorph.frameworks.onnx.runtime import OnnxRuntime

SIZE = 256


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr(lazy_weights, "WORTHWHILE", 1 << 10)
    random = np.random.default_rng(0)
    weights = {
        "large": random.normal(size=(SIZE, SIZE)).astype(np.float32),
        "small": random.normal(size=(SIZE,)).astype(np.float32),
        "other": random.normal(size=(SIZE, SIZE)).astype(np.float32),
    }
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "large"], ["a"], name="first"),
            helper.make_node("Add", ["a", "small"], ["b"], name="second"),
            helper.make_node("MatMul", ["b", "other"], ["y"], name="third"),
        ],
        "two layers",
        [value("x", TensorProto.FLOAT, [1, SIZE])],
        [value("y", TensorProto.FLOAT, [1, SIZE])],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    opsets = [helper.make_opsetid("", 18)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    onnx.save(model, tmp_path / "model.onnx")
    return tmp_path / "model.onnx"


def test_the_outline_is_small_and_the_whole_is_the_file(path):
    native = OnnxFramework().load(str(path), {}).native
    assert set(native.left.starts) == {"large", "other"}
    assert native.outline.ByteSize() < path.stat().st_size / 50
    assert native.proto.SerializeToString() == onnx.load(path).SerializeToString()
    for tensor in onnx.load(path).graph.initializer:
        np.testing.assert_array_equal(
            native.initializer(tensor.name), numpy_helper.to_array(tensor)
        )


@pytest.mark.parametrize("runtime", [OnnxOracle(), OnnxRuntime()], ids=["oracle", "runtime"])
def test_every_tensor_is_what_it_is_with_weights_in_memory(path, runtime, monkeypatch):
    x = np.random.default_rng(1).normal(size=(1, SIZE)).astype(np.float32)
    found = []
    for worthwhile in (1 << 10, 1 << 40):
        monkeypatch.setattr(lazy_weights, "WORTHWHILE", worthwhile)
        model = OnnxFramework().load(str(path), {})
        assert (model.native.left is None) == (worthwhile > 1 << 20)
        session = runtime.open(
            model, Environment(runtime=runtime.name, settings=dict(runtime.settings))
        )
        found.append(session.run({"x": x}, ["a", "b", "y", "large"]))
        found[-1] |= session.run({"b": x}, ["y"])
    for name, array in found[0].items():
        np.testing.assert_array_equal(array, found[1][name])


def test_a_file_that_was_written_to_meanwhile_is_reported(path):
    native = OnnxFramework().load(str(path), {}).native
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(UnreadableModelError) as caught:
        native.initializer("large")
    assert caught.value.code == "MODEL_CHANGED"
