"""Which node of a group is at fault, and the right value in the candidate's form."""

import numpy as np

from chains import node
from isomorph.localize.fault import likeliest_node, placed_value, repeated
from isomorph.match.axis_layout import Rearrangement

GROUP = [node("MatMul", ["x"], "a"), node("Add", ["a"], "b"), node("Relu", ["b"], "c")]


def chosen(group, counterpart=None, known=()):
    return likeliest_node(group, known, counterpart).outputs[0]


def test_the_node_with_the_operator_of_its_counterpart_is_chosen():
    assert chosen(GROUP, node("Add", ["p"], "q")) == "b"
    assert chosen([*GROUP, node("Add", ["c"], "d")], node("Add", ["p"], "q")) == "d"


def test_a_product_on_integers_is_that_on_floats():
    integers = [node("MatMulInteger", ["x"], "a"), node("Cast", ["a"], "b")]
    assert chosen(integers, node("Gemm", ["p"], "q")) == "a"


def test_a_node_that_is_already_faulty_is_taken_again():
    assert chosen(GROUP, node("Relu", ["p"], "q"), known=GROUP[:1]) == "a"


def test_otherwise_it_is_the_last_one():
    assert chosen(GROUP) == "c"
    assert chosen(GROUP, node("Softmax", ["p"], "q")) == "c"


def test_a_right_value_takes_the_order_of_axes_and_the_type_of_the_wrong_one():
    value = np.arange(6.0).reshape(2, 3)
    moved = Rearrangement(permutation=(1, 0), shape=(3, 2))
    placed = placed_value(moved, value, np.zeros((3, 2), np.float32))
    assert placed.dtype == np.float32
    assert np.array_equal(placed, value.T)
    assert placed.flags.c_contiguous


def test_one_integer_again_and_again_equals_others_by_accident():
    assert repeated(np.ones((1, 4), bool))
    assert repeated(np.array(0))
    assert not repeated(np.array([0, 1]))
    assert not repeated(np.zeros(3)), "a float is no accident"
    assert not repeated(np.zeros(0, int))
