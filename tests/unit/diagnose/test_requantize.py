"""The integers that a stored weight should hold, on its own grid."""

from types import SimpleNamespace

import numpy as np
import pytest

from isomorph.core.model import Constant, Graph, Node, Quantization
from isomorph.diagnose.requantize import requantized

RIGHT = np.random.default_rng(0).uniform(-1, 1, (3, 4))


def constant(name, dtype, shape):
    return Constant(name=name, dtype=dtype, shape=shape, digest=name, value_digest=name)


def found(stored, dtype="int8", scale=(0.01,), zero=(0,), axis=None, right=RIGHT):
    cand = Node(name="n", op="MatMulInteger", native_op="q", inputs=("x", "w"), outputs=("y",))
    ref = Node(name="m", op="MatMul", native_op="MatMul", inputs=("x", "v"), outputs=("y",))
    grid = Quantization(tensor="w", dtype=dtype, scale=scale, zero_point=zero, axis=axis)

    def graph(node, held, grids=()):
        return Graph(
            name="g", inputs=(), outputs=(), nodes=(node,), tensors={},
            constants={held.name: held}, quantization=grids,
        )  # fmt: skip

    candidate = graph(cand, constant("w", dtype, stored.shape), (grid,))
    context = SimpleNamespace(
        candidate=candidate,
        reference=graph(ref, constant("v", "float32", right.shape)),
        nodes=(cand,),
        counterparts=(ref,),
        constant=lambda made, name: stored if made is candidate else right,
        value=lambda *_: None,
    )
    return list(requantized(context))


def test_the_reference_is_put_on_the_grid_and_the_wrong_integers_are_replaced():
    wrong = np.zeros((3, 4), np.int8)
    (each,) = found(wrong)
    assert each.integers.dtype == np.int8
    assert np.array_equal(each.integers, np.rint(RIGHT / 0.01))
    assert (each.name, each.source) == ("w", "'v'")
    assert np.array_equal(each.right, RIGHT)
    assert np.array_equal(each.cand_values, np.zeros((3, 4)))


def test_integers_within_one_rounding_are_left_alone():
    right = np.rint(RIGHT / 0.01).astype(np.int8)
    assert found(right) == []
    assert found(right + np.int8(1)) == []
    assert len(found(right + np.int8(2))) == 1


def test_a_zero_point_and_the_ends_of_the_type_are_kept():
    wrong = np.zeros((3, 4), np.uint8)
    (each,) = found(wrong, "uint8", scale=(0.005,), zero=(128,))
    expected = np.clip(np.rint(RIGHT / 0.005) + 128, 0, 255)
    assert expected.max() == 255
    assert np.array_equal(each.integers, expected)


def test_each_channel_has_its_own_step():
    scale = (0.01, 0.02, 0.05)
    (each,) = found(np.zeros((3, 4), np.int8), scale=scale, zero=(0, 0, 0), axis=0)
    assert np.array_equal(each.integers, np.rint(RIGHT / np.array(scale)[:, None]))


def test_a_weight_in_another_order_of_axes_is_placed():
    (each,) = found(np.zeros((4, 3), np.int8))
    assert np.array_equal(each.integers, np.rint(RIGHT.T / 0.01))


def test_what_the_oracle_reads_as_real_numbers_is_given_as_such():
    stored = np.full((3, 4), 0.015)
    (each,) = found(stored, zero=(3,))
    whole = np.rint(RIGHT / 0.01) + 3
    assert np.array_equal(each.integers, whole)
    assert np.allclose(each.read, (whole - 3) * 0.01)
    (other,) = found(np.zeros((3, 4), np.int8), zero=(3,))
    assert np.array_equal(other.read, whole)


@pytest.mark.parametrize("weight_scale", [[0.5], [0.5, 0.25, 0.125]])
def test_a_bias_counts_in_products_of_two_scales(weight_scale):
    right = np.array([1.5, -2.0, 0.75])
    names = ("x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b")
    cand = Node(name="n", op="QLinearConv", native_op="q", inputs=names, outputs=("y",))
    ref = Node(name="m", op="Conv", native_op="Conv", inputs=("x", "w", "v"), outputs=("y",))
    values = {
        "xs": np.array(0.01), "ws": np.array(weight_scale), "b": np.zeros(3, np.int32),
    }  # fmt: skip

    def graph(node, **dtypes):
        held = {name: constant(name, dtype, (3,)) for name, dtype in dtypes.items()}
        return Graph(name="g", inputs=(), outputs=(), nodes=(node,), tensors={}, constants=held)

    def context(**dtypes):
        candidate = graph(cand, **dtypes)
        return SimpleNamespace(
            candidate=candidate,
            reference=graph(ref, v="float32"),
            nodes=(cand,),
            counterparts=(ref,),
            constant=lambda made, name: values[name] if made is candidate else right,
            value=lambda *_: None,
        )

    (each,) = requantized(context(xs="float32", ws="float32", b="int32"))
    assert each.name == "b"
    assert np.array_equal(each.integers, np.rint(right / (0.01 * np.array(weight_scale))))
    assert list(requantized(context(ws="float32", b="int32"))) == []


@pytest.mark.parametrize("dtype", ["float32", "bool"])
def test_only_integers_have_a_grid(dtype):
    assert found(np.zeros((3, 4), dtype), dtype) == []


def test_a_weight_of_another_size_is_none():
    assert found(np.zeros((5, 5), np.int8)) == []
