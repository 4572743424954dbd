"""External weights of a session stay in their files where copies would not fit into memory."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from isomorph import registry
from isomorph.core.trace import Environment
from isomorph.frameworks.onnx import ort_session

ROWS = 64
WEIGHTS = ROWS * ROWS * 4


@pytest.fixture
def model(tmp_path):
    weight = np.random.default_rng(0).standard_normal((ROWS, ROWS)).astype(np.float32)
    (tmp_path / "w.bin").write_bytes(weight.tobytes())
    stored = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[ROWS, ROWS])
    stored.data_location = TensorProto.EXTERNAL
    stored.external_data.add(key="location", value="w.bin")
    specs = [helper.make_tensor_value_info(each, TensorProto.FLOAT, [2, ROWS]) for each in "xy"]
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["p"], name="product"),
            helper.make_node("Relu", ["p"], ["y"], name="relu"),
        ],
        "g", specs[:1], specs[1:], [stored],
    )  # fmt: skip
    opset = helper.make_opsetid("", 17)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=9), tmp_path / "m.onnx")
    return registry.framework("onnx").load(str(tmp_path / "m.onnx"), {})


def opened(model):
    return registry.runtime("onnxruntime").open(model, Environment(runtime="onnxruntime"))


def packing(session):
    options = session._deployed.session.get_session_options()
    try:
        return options.get_session_config_entry("session.disable_prepacking") != "1"
    except RuntimeError:  # it was never set
        return True


@pytest.mark.parametrize(
    ("limit", "packs"), [(None, True), (2 * WEIGHTS, True), (2 * WEIGHTS - 1, False)]
)
def test_weights_are_packed_where_their_copies_fit(model, monkeypatch, limit, packs):
    monkeypatch.setattr(ort_session, "memory_limit", lambda: limit)
    session = opened(model)
    assert packing(session) is packs
    assert ("weights" in session.environment.facts) is not packs
    x = np.random.default_rng(1).standard_normal((2, ROWS)).astype(np.float32)
    expected = np.maximum(x @ session.run({}, ["w"])["w"], 0)
    np.testing.assert_allclose(session.run({"x": x}, ["y"])["y"], expected, atol=1e-4)


def test_the_limit_is_raised_for_mapped_weights_as_long_as_a_session_is_open(model, monkeypatch):
    counted = []
    monkeypatch.setattr(ort_session, "count_mapped", counted.append)
    session = opened(model)
    assert counted == [2 * WEIGHTS]
    session.run({"x": np.ones((2, ROWS), np.float32)}, ["p"])
    assert counted == [2 * WEIGHTS, 2 * WEIGHTS]
    session.close()
    assert counted == [2 * WEIGHTS, 2 * WEIGHTS, -2 * WEIGHTS, -2 * WEIGHTS]


def test_a_session_that_does_not_open_leaves_the_limit_as_it_was(model, monkeypatch):
    counted = []
    monkeypatch.setattr(ort_session, "count_mapped", counted.append)

    def fails(*_, **__):
        raise RuntimeError("no")

    monkeypatch.setattr("onnxruntime.InferenceSession", fails)
    with pytest.raises(Exception, match="no"):
        opened(model)
    assert counted == [2 * WEIGHTS, -2 * WEIGHTS]
