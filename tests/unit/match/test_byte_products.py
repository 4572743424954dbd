"""Products of floats with stored bytes are recognized by what is between."""

import numpy as np
import pytest

from isomorph import registry
from isomorph.match.byte_products import byte_products
from isomorph.measure.precision import quantized
from weight_pairs import floats, model, node

STORED = np.arange(-12, 12, dtype=np.int8).reshape(4, 6)
SCALE = np.linspace(0.1, 0.4, 4, dtype=np.float32)


def graph(nodes, stored=STORED, **constants):
    made = model(
        nodes, {"x": floats(2, 6)}, {"y": floats(2, 4)}, {"w": stored, "s": SCALE, **constants}
    )
    return registry.framework("onnx").load(made, {}).graph


TURNED = [
    node("Transpose", "w", "t", perm=[1, 0]),
    node("Cast", "t", "c", to=1),
    node("MatMul", "x c", "p"),
]


def test_a_matrix_that_is_cast_multiplied_and_scaled():
    (found,) = byte_products(graph([*TURNED, node("Mul", "p s", "y")]))
    assert (found.product.op, found.stored, found.turned, found.scale) == (
        "MatMul", "w", True, "s",
    )  # fmt: skip


def test_the_way_of_the_matrix_decides_whether_it_is_turned():
    nodes = [node("Cast", "w", "c", to=1), node("MatMul", "x c", "p"), node("Mul", "p s", "y")]
    (found,) = byte_products(graph(nodes, stored=np.ascontiguousarray(STORED.T)))
    assert not found.turned


@pytest.mark.parametrize(
    "behind",
    [
        [node("Add", "p s", "y")],
        [node("Mul", "p p", "y")],
        [node("Relu", "p", "r"), node("Mul", "p r", "y")],
    ],
)
def test_what_is_not_scaled_by_a_constant_has_no_scale(behind):
    (found,) = byte_products(graph([*TURNED, *behind]))
    assert found.scale == ""


@pytest.mark.parametrize("dtype", [np.int32, np.bool_, np.float16])
def test_other_types_are_no_bytes(dtype):
    nodes = [*TURNED, node("Mul", "p s", "y")]
    made = graph(nodes, stored=STORED.astype(dtype))
    assert byte_products(made) == ()
    assert not quantized(made)
    assert quantized(graph(nodes))


def test_bytes_that_no_product_reads_are_no_weights():
    nodes = [
        node("Transpose", "w", "t", perm=[1, 0]),
        node("Cast", "t", "c", to=1),
        node("Mul", "c c", "q"),
        node("MatMul", "x q", "y"),
    ]
    assert byte_products(graph(nodes)) == ()
