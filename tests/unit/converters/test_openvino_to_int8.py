"""OpenVINO's files in int8 by NNCF, calibrated on samples, or in their weights alone."""

from dataclasses import replace

import numpy as np
import pytest

from isomorph import registry
from isomorph.core.conversion import Order

pytest.importorskip("openvino")
pytest.importorskip("nncf")

from openvino_building import network


@pytest.fixture
def order(tmp_path):
    rng = np.random.default_rng(0)
    samples = []
    for place in range(4):
        path = tmp_path / f"{place}.npz"
        np.savez(path, x=rng.normal(size=(2, 3, 6, 6)).astype(np.float32))
        samples.append(str(path))
    source = network(tmp_path / "source.xml")
    return Order(source=str(source), target=str(tmp_path / "made.xml"), example=samples[0],
                 samples=tuple(samples), width="int8")  # fmt: skip


def made(order):
    (note,) = registry.converter("openvino_to_int8").convert(order)
    return note, registry.framework("openvino").load(order.target, {}).graph


def test_quantizers_are_calibrated_on_the_samples(order):
    note, graph = made(order)
    assert note == "calibrated on 4 samples"
    assert "FakeQuant" in {node.op for node in graph.nodes}
    assert "int8" in {each.dtype for each in graph.constants.values()}


def test_weights_alone(order):
    note, graph = made(replace(order, width="dynamic", samples=()))
    assert "weights" in note
    assert "FakeQuant" not in {node.op for node in graph.nodes}
    assert "DequantizeLinear" in {node.op for node in graph.nodes}
