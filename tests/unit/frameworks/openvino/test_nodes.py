"""Which chains are one node, and which are left as they are."""

import numpy as np
import pytest

from isomorph.frameworks.openvino.nodes import nodes_of
from isomorph.frameworks.openvino.read import open_path
from openvino_building import Net


def chain(net, scale_shape, *, zero=True, dtype=np.uint8, shape=(6, 4)):
    q = net.constant("q", np.arange(24, dtype=dtype).reshape(shape))
    real = net.op("real", "Convert", [q], shape, destination_type="f32")
    if zero:
        point = net.constant("zero", np.full(scale_shape, 3, dtype))
        point = net.op("point", "Convert", [point], scale_shape, destination_type="f32")
        real = net.op("shifted", "Subtract", [real, point], shape)
    scale = net.constant("scale", np.full(scale_shape, 0.5, np.float32))
    return net.op("w", "Multiply", [real, scale], shape), real


def built(net, tensors, tmp_path):
    for tensor in tensors:
        net.result(tensor)
    model, _ = open_path(net.write(tmp_path / "m.xml"))
    return {node.name: node for node in nodes_of(model.graph)}


@pytest.mark.parametrize(
    ("shape", "scale", "attributes"),
    [
        ((6, 4), (), {"axis": 0}),
        ((6, 4), (6, 1), {"axis": 0}),
        ((6, 4), (4,), {"axis": 1}),
        ((3, 2, 4), (3, 2, 1), {"axis": 2, "block_size": 4}),
    ],
)
@pytest.mark.parametrize("zero", [True, False])
def test_a_chain_with_scales_for_slices_or_blocks(tmp_path, shape, scale, attributes, zero):
    net = Net()
    whole, _ = chain(net, scale, zero=zero, shape=shape)
    nodes = built(net, [whole], tmp_path)
    assert set(nodes) == {"w"}
    assert nodes["w"].dequantizes
    assert nodes["w"].attributes == attributes
    assert nodes["w"].inputs == ("q", "scale", "zero")[: 3 if zero else 2]


def test_a_part_that_others_read_stays(tmp_path):
    net = Net()
    whole, real = chain(net, (6, 1))
    nodes = built(net, [whole, net.op("other", "ReLU", [real], (6, 4))], tmp_path)
    assert "real" in nodes
    assert not nodes["w"].dequantizes


def test_whole_numbers_of_another_kind_are_no_weights(tmp_path):
    net = Net()
    whole, _ = chain(net, (6, 1), zero=False, dtype=np.int64)
    assert not built(net, [whole], tmp_path)["w"].dequantizes
