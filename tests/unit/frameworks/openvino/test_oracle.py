"""The oracle evaluates OpenVINO's files in float64, and refuses what it does not know."""

import numpy as np
import pytest

from isomorph import registry
from isomorph.core.errors import UnreadableModelError
from isomorph.core.trace import Environment, Noise
from openvino_building import Net, network, unknown

FRAMEWORK, ORACLE = registry.framework("openvino"), registry.runtime("openvino_oracle")


def opened(path):
    return ORACLE.open(FRAMEWORK.load(path, {}), Environment(runtime="openvino_oracle"))


def test_its_environment_is_float64(tmp_path):
    assert opened(network(tmp_path / "m.xml")).environment.precision == "float64"


def test_an_unknown_operator_is_named(tmp_path):
    with pytest.raises(UnreadableModelError, match="Frobnicate at odd_one"):
        opened(unknown(tmp_path / "m.xml", "Frobnicate"))


def test_an_unknown_way_to_broadcast_is_refused(tmp_path):
    net = Net()
    x, y = net.parameter("x", (2, 3)), net.parameter("y", (2,))
    net.result(net.op("sum", "Add", [x, y], (2, 3), auto_broadcast="pdpd"))
    with pytest.raises(UnreadableModelError, match="Add at sum"):
        opened(net.write(tmp_path / "m.xml"))


def test_stored_integers_get_their_ideal_step_where_quantizers_are_disturbed(tmp_path):
    session = opened(network(tmp_path / "m.xml"))
    x = np.zeros((2, 3, 6, 6), np.float32)
    clean = session.run({"x": x}, ["k"])["k"]
    drawn = session.run({"x": x}, ["k"], noise=Noise(seed=1, quantizers=True))["k"]
    scale = session.run({"x": x}, ["scale"])["scale"]
    away = np.abs(drawn - clean) / scale
    assert 0.05 < away.max() <= 0.51


def test_a_constant_fed_its_own_value_stays_one(tmp_path):
    session = opened(network(tmp_path / "m.xml"))
    x = np.random.default_rng(0).normal(size=(2, 3, 6, 6)).astype(np.float32)
    k = session.run({"x": x}, ["k"])["k"]
    plain = session.run({"x": x}, ["logits"])["logits"]
    assert np.array_equal(session.run({"x": x, "k": k}, ["logits"])["logits"], plain)
    assert not np.allclose(session.run({"x": x, "k": 2 * k}, ["logits"])["logits"], plain)
