"""OpenVINO's files in OpenVINO: as deployed, and layer by layer."""

import numpy as np
import pytest

pytest.importorskip("openvino")

from isomorph import registry
from isomorph.core.errors import IsomorphError
from isomorph.core.trace import Noise
from openvino_agreement import op, opened, ov
from openvino_building import Net, network

FRAMEWORK = registry.framework("openvino")
X = np.random.default_rng(1).normal(size=(2, 3, 6, 6)).astype(np.float32)


@pytest.fixture
def model(tmp_path):
    return FRAMEWORK.load(network(tmp_path / "m.xml"), {})


@pytest.fixture
def session(model):
    return opened(model, "openvino")


def test_every_tensor_is_within_rounding_of_the_oracle(model, session):
    names = [name for node in model.graph.nodes for name in node.outputs]
    ran, meant = (each.run({"x": X}, names) for each in (session, opened(model)))
    for name in names:
        assert np.allclose(ran[name], meant[name], rtol=1e-5, atol=1e-6), name


def test_outputs_are_those_of_the_deployed_model(model, session, tmp_path):
    compiled = ov.Core().compile_model(model.location, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    expected = compiled([X])[0]
    assert np.array_equal(session.run({"x": X}, ["logits"])["logits"], expected)


def test_constants_are_fetched_and_fed(session):
    q = session.run({}, ["q"])["q"]
    assert q.dtype == np.int8
    other = session.run({"x": X, "scale": np.ones((5, 1), np.float32)}, ["logits"])["logits"]
    own = session.run({"x": X, "scale": session.run({}, ["scale"])["scale"]}, ["logits"])["logits"]
    plain = session.run({"x": X}, ["logits"])["logits"]
    assert np.allclose(own, plain, rtol=1e-5, atol=1e-5)
    assert not np.allclose(other, plain, rtol=1e-2)


@pytest.mark.parametrize(
    ("feeds", "fetch", "code"),
    [
        ({"x": X}, ["nothing"], "UNKNOWN_TENSOR"),
        ({}, ["logits"], "MISSING_INPUT"),
        ({"x": X.astype(np.float64)}, ["logits"], "FEED_DTYPE"),
    ],
)
def test_what_cannot_be_run(session, feeds, fetch, code):
    with pytest.raises(IsomorphError) as caught:
        session.run(feeds, fetch)
    assert caught.value.code == code


def test_it_draws_no_noise(session):
    with pytest.raises(IsomorphError):
        session.run({"x": X}, ["logits"], noise=Noise(seed=0, rounding=True))


def test_a_state_begins_anew_in_every_run(tmp_path):
    net = Net()
    x = net.parameter("x", (2,))
    start = net.constant("start", np.ones(2, np.float32))
    before = net.op("before", "ReadValue", [start], (2,), version="opset6", variable_id="v",
                    variable_type="f32", variable_shape="2")  # fmt: skip
    total = net.op("total", "Add", [before, x], (2,))
    net.op("after", "Assign", [total], (2,), version="opset6", variable_id="v")
    net.result(total)
    model = FRAMEWORK.load(net.write(tmp_path / "state.xml"), {})
    feeds = {"x": np.float32([2, 3])}
    for each in (opened(model, "openvino"), opened(model)):
        for _ in range(2):
            assert each.run(feeds, ["total"])["total"].tolist() == [3, 4]


def test_inputs_that_the_compiler_reorders(tmp_path):
    a, b = (op.parameter([2], np.float32, name=name) for name in "ab")
    path = tmp_path / "m.xml"
    ov.save_model(ov.Model([op.subtract(b, a)], [b, a], "two"), path)
    model = FRAMEWORK.load(path, {})
    name = model.graph.outputs[0].name
    feeds = {"a": np.float32([1, 2]), "b": np.float32([5, 7])}
    assert opened(model, "openvino").run(feeds, [name])[name].tolist() == [4, 5]
