"""Where the real numbers of packed weights can be put."""

import numpy as np

from isomorph import registry
from isomorph.match.packed_readers import packed_readers
from packed_decoder import NAMES, at, network
from weight_pairs import floats, model, node


def graph(proto):
    return registry.framework("onnx").load(proto, {}).graph


def test_a_product_takes_them_as_its_constant():
    assert packed_readers(graph(network(at(0)))) == {name: f"{name}_q" for name in NAMES}
    assert packed_readers(graph(network(None))) == {}


def test_a_product_that_quantizes_its_other_factor_takes_them_as_well():
    assert packed_readers(graph(network(at(4)))) == packed_readers(graph(network(at(0))))


def dequantized(scale, **attributes):
    stored = np.arange(-16, 16, dtype=np.int8).reshape(4, 8)
    nodes = [node("DequantizeLinear", "w s", "d", **attributes), node("MatMul", "x d", "y")]
    made = model(
        nodes, {"x": floats(2, 4)}, {"y": floats(2, 8)},
        {"w": stored, "s": np.asarray(scale, np.float32)},
    )  # fmt: skip
    made.opset_import[0].version = 21
    return graph(made)


def test_what_is_dequantized_in_blocks_takes_them_as_its_result():
    found = dequantized(np.ones((4, 2)), axis=1, block_size=4)
    assert packed_readers(found) == {"DequantizeLinear_d": "d"}


def test_other_dequantized_weights_are_judged_by_their_loss():
    assert packed_readers(dequantized(np.ones(8), axis=1)) == {}


def test_bytes_that_are_scaled_behind_a_product_take_them_as_the_cast():
    nodes = [node("Cast", "w", "c", to=1), node("MatMul", "x c", "p")]
    constants = {"w": np.ones((4, 8), np.int8), "s": np.ones(8, np.float32)}
    ends = {"x": floats(2, 4)}, {"y": floats(2, 8)}
    scaled = graph(model([*nodes, node("Mul", "p s", "y")], *ends, constants))
    assert packed_readers(scaled) == {"Cast_c": "c"}
    assert packed_readers(graph(model([*nodes, node("Relu", "p", "y")], *ends, constants))) == {}
