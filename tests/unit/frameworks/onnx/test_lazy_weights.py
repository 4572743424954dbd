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


def _changed(path, change):
    model = onnx.load(path)
    change(model.graph)
    onnx.save(model, path)
    return path


def test_values_that_numpy_does_not_read_are_held_and_the_others_are_not(path):
    def change(graph):
        graph.initializer[2].data_type = TensorProto.BFLOAT16
        graph.initializer[2].dims[:] = [2 * SIZE, SIZE]

    native = OnnxFramework().load(str(_changed(path, change)), {}).native
    assert set(native.left.starts) == {"large"}
    assert native.initializer("other").shape == (2 * SIZE, SIZE)


def test_a_name_that_a_tensor_inside_a_node_has_as_well_is_not_mistaken(path):
    def change(graph):
        value = numpy_helper.from_array(np.ones(SIZE, np.float32), "large")
        graph.initializer.remove(graph.initializer[1])
        graph.node.insert(0, helper.make_node("Constant", [], ["small"], value=value))

    model = OnnxFramework().load(str(_changed(path, change)), {})
    assert model.native.left is None
    assert model.graph.constants["small"].shape == (SIZE,)


def test_too_few_bytes_of_a_large_tensor_are_reported(path):
    def change(graph):
        graph.initializer[0].raw_data = graph.initializer[0].raw_data[:-4]

    with pytest.raises(UnreadableModelError) as caught:
        OnnxFramework().load(str(_changed(path, change)), {})
    assert caught.value.code == "TENSOR_SIZE_MISMATCH"


def test_lengths_that_are_written_in_more_bytes_than_they_need(path):
    """A writer may reserve five bytes for every length; protobuf reads them all the same."""
    data = onnx.load(path).graph.initializer[0].SerializeToString()
    size = len(data)
    padded = bytes((size & 0x7F | 0x80, size >> 7 & 0x7F | 0x80, size >> 14 & 0x7F | 0x80, 0x80, 0))
    graph = onnx.load(path).graph
    model = onnx.load(path)
    model.ClearField("graph")
    own = graph.SerializeToString().replace(
        b"\x2a" + padded[:2] + bytes((size >> 14,)) + data, b"\x2a" + padded + data
    )
    length = bytes((len(own) & 0x7F | 0x80, len(own) >> 7 & 0x7F | 0x80, len(own) >> 14))
    path.write_bytes(model.SerializeToString() + b"\x3a" + length + own)
    native = OnnxFramework().load(str(path), {}).native
    assert b"\x2a" + padded in path.read_bytes()
    assert set(native.left.starts) == {"large", "other"}
    np.testing.assert_array_equal(
        native.initializer("large"), numpy_helper.to_array(graph.initializer[0])
    )
