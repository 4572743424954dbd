"""A description has neutral names, attributes as ONNX spells them, and the grids of its tensors."""

import numpy as np
import pytest

from isomorph import registry
from openvino_building import Net, network


def described(net, tmp_path):
    return registry.framework("openvino").load(net.write(tmp_path / "m.xml"), {}).graph


def test_names_and_attributes(tmp_path):
    graph = registry.framework("openvino").load(network(tmp_path / "m.xml"), {}).graph
    conv = next(node for node in graph.nodes if node.name == "conv")
    assert (conv.op, conv.native_op) == ("Conv", "Convolution")
    assert conv.attributes == {
        "strides": (1, 1), "dilations": (1, 1), "pads": (1, 1, 1, 1), "auto_pad": "NOTSET",
    }  # fmt: skip
    assert [spec.dtype for spec in graph.outputs] == ["float32", "int64"]
    assert graph.constants["w"].shape == (4, 3, 3, 3)


def test_a_chain_of_stored_integers_is_one_node(tmp_path):
    graph = registry.framework("openvino").load(network(tmp_path / "m.xml"), {}).graph
    assert "real" not in {node.name for node in graph.nodes}
    node = next(node for node in graph.nodes if node.op == "DequantizeLinear")
    assert node.inputs == ("q", "scale")
    assert node.attributes == {"axis": 0}
    (grid,) = graph.quantization
    assert (grid.tensor, grid.dtype, grid.axis, len(grid.scale)) == ("q", "int8", 0, 5)


def test_a_grid_of_levels(tmp_path):
    net = Net()
    x = net.parameter("x", (2, 3))
    ends = [net.constant(f"end{k}", np.float32(v)) for k, v in enumerate((-1.0, 1.55) * 2)]
    net.result(net.op("q", "FakeQuantize", [x, *ends], (2, 3), levels=256))
    graph = described(net, tmp_path)
    (grid,) = graph.quantization
    assert grid.scale == pytest.approx((0.01,))
    assert (grid.tensor, grid.zero_point, grid.axis) == ("q", (100,), None)
    assert graph.nodes[0].op == "FakeQuant"


def test_two_layers_of_one_name_are_two_nodes(tmp_path):
    net = Net()
    x = net.parameter("x", (2,))
    net.result(net.op("same", "ReLU", [net.op("same", "Tanh", [x], (2,))], (2,)))
    graph = described(net, tmp_path)
    assert len({node.name for node in graph.nodes}) == 2
    assert len({name for node in graph.nodes for name in node.outputs}) == 2


def test_a_tensor_has_its_shortest_name(tmp_path):
    net = Net()
    net.result(net.op("layer/relu", "ReLU", [net.parameter("x", (2,))], (2,)))
    path = net.write(tmp_path / "m.xml")
    path.write_text(path.read_text().replace('names="layer/relu"', r'names="y\,z:0,y\,z"'))
    graph = registry.framework("openvino").load(path, {}).graph
    assert [spec.name for spec in graph.outputs] == ["y,z"]


def test_the_table_of_quantizers_shows_real_numbers(tmp_path):
    """What a FakeQuant gives are real numbers on a grid, and no integers to be scaled again."""
    pytest.importorskip("openvino")
    import isomorph

    net = Net()
    x = net.parameter("x", (2, 8))
    ends = [net.constant(f"end{k}", np.float32(v)) for k, v in enumerate((-2.0, 2.0) * 2)]
    net.result(net.op("q", "FakeQuantize", [x, *ends], (2, 8), levels=256))
    path = net.write(tmp_path / "m.xml")
    values = np.linspace(-1.5, 1.0, 16, dtype=np.float32).reshape(2, 8)
    report = isomorph.check(path, path, inputs={"x": values}, in_process=True, quantization=True)
    (row,) = report.quantization
    assert row.seen == pytest.approx((-1.5, 1.0))
    assert row.clipped == 0.0
