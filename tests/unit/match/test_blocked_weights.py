"""The numbers that packed weights stand for, by the operator that reads them."""

import numpy as np
import pytest

from isomorph import registry
from isomorph.core.model import Node
from isomorph.match.blocked_weights import block_along, blocked_weights
from isomorph.match.stored_weights import Weights
from isomorph.sessions.in_process import InProcessHost
from isomorph.sessions.model_handle import ModelHandle
from packed_decoder import at, drawn_weights, network
from weight_pairs import floats, model, node, normal


def weights(proto):
    loaded = registry.framework("onnx").load(proto, {})
    handle = ModelHandle(
        role="candidate", model=loaded, host=InProcessHost(), runtime="onnxruntime", settings={}
    )
    return Weights.of(handle)


@pytest.mark.parametrize(
    ("attributes", "rank", "found"),
    [
        ({"block_size": 32, "axis": 0}, 2, (0, 32)),
        ({"block_size": 32, "axis": -1}, 2, (1, 32)),
        ({"block_size": 0}, 2, (1, 0)),
        ({}, 0, (0, 0)),
        ({"block_size": (1, 32)}, 2, (1, 32)),
        ({"block_size": (16, 1)}, 2, (0, 16)),
        ({"block_size": (4, 32)}, 2, (0, 0)),
        ({"block_size": (1, 1)}, 2, (0, 0)),
    ],
)
def test_blocks_along_an_axis(attributes, rank, found):
    made = Node(
        name="n", op="DequantizeLinear", native_op="", inputs=(), outputs=(), attributes=attributes
    )
    assert block_along(made, rank) == found


def test_a_packed_product():
    found = {each.fed: each for each in blocked_weights(weights(network(at(0))))}
    for name, weight in drawn_weights().items():
        blocked = found[f"{name}_q"]
        assert np.all(np.abs(blocked.real - weight) <= 0.51 * blocked.sizes + 0.5 * blocked.sizes)
        assert np.array_equal(blocked.as_fed(weight), weight)


def test_bytes_that_are_scaled_behind_the_product():
    weight, scale = normal(4, 6), np.linspace(0.01, 0.04, 4, dtype=np.float32)
    stored = np.clip(np.rint(weight / scale[:, None]), -128, 127).astype(np.int8)
    nodes = [
        node("Transpose", "w", "t", perm=[1, 0]),
        node("Cast", "t", "c", to=1),
        node("MatMul", "x c", "p"),
        node("Mul", "p s", "y"),
    ]
    ends = {"x": floats(2, 6)}, {"y": floats(2, 4)}
    (found,) = blocked_weights(weights(model(nodes, *ends, {"w": stored, "s": scale})))
    assert (found.fed, found.block, found.ends) == ("c", 6, (-128, 127))
    np.testing.assert_allclose(found.real, stored * scale[:, None].astype(np.float64))
    # What is fed is scaled behind the product again.
    np.testing.assert_allclose(found.as_fed(weight).T * scale[:, None], weight, rtol=1e-6)
