"""Loops, branches, lists and switches in the TensorFlow oracle."""

import numpy as np
import pytest

from isomorph.core.errors import RuntimeFailedError, UnreadableModelError
from isomorph.core.trace import Noise
from isomorph.frameworks.tensorflow.framework import TensorflowFramework
from isomorph.frameworks.tensorflow.tensor_list_ops import LISTS
from tensorflow_oracle_cases import Case, normal, opened, rms, tf
from tf_building import binary, constant, graph, placeholder, unary

raw = tf.raw_ops


def agrees(case):
    ran, meant = case.ran(), case.meant()
    for name in case.outputs:
        assert np.shape(ran[name]) == np.shape(meant[name])
        assert rms(ran[name] - meant[name]) <= 1e-6 * max(rms(meant[name]), 1e-9)
    return meant


def collatz(x):
    """A loop that ends when the data says so, collecting as it goes."""
    steps = tf.TensorArray(tf.float32, size=0, dynamic_size=True, element_shape=[3])

    def body(k, y, steps):
        y = y * 1.3 + 0.1
        return k + 1, y, steps.write(k, y)

    loop = tf.while_loop(lambda k, y, _: tf.reduce_sum(y) < 40.0, body, [0, x, steps])
    return [tf.cast(loop[0], tf.float32), loop[1], loop[2].stack()]


def test_a_loop_runs_as_often_as_the_data_requires():
    case = Case(collatz, np.abs(normal(3)) + 0.5)
    meant = agrees(case)
    assert meant["y0"] == meant["y2"].shape[0] > 3


def test_noise_differs_from_round_to_round_and_repeats_with_its_seed():
    case = Case(collatz, np.abs(normal(3)) + 0.5)
    still = case.meant()["y2"]
    one, two = (case.meant(Noise(seed=1, rounding=True))["y2"] for _ in range(2))
    assert np.array_equal(one, two)
    steps = (one - still) / still
    assert len(np.unique(np.round(steps, 12))) > still.size // 2
    assert 1e-9 < rms(steps) < 1e-5


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_only_the_branch_that_is_taken_is_computed(sign):
    def function(x):
        return tf.cond(tf.reduce_sum(x) > 0, lambda: tf.exp(x) * 1.1, lambda: x - 1.0 / 3.0)

    agrees(Case(function, sign * np.abs(normal(10))))


@pytest.mark.parametrize("index", [0.0, 1.0, 2.0, 9.0])
def test_a_branch_by_number_beyond_the_last_is_the_last(index):
    def function(x):
        return tf.switch_case(
            tf.cast(x[0], tf.int32), [lambda: x * 1.1, lambda: tf.exp(x), lambda: x / 3.0]
        )

    agrees(Case(function, np.array([index, 0.3, 0.7], np.float32)))


def lists(x):
    """Every way of making and reading a list that does not need a loop."""
    whole = raw.TensorListFromTensor(tensor=x, element_shape=[2])
    pushed = raw.TensorListPushBack(input_handle=whole, tensor=x[0] * 3.0)
    popped = raw.TensorListPopBack(input_handle=pushed, element_shape=[2], element_dtype=tf.float32)
    scattered = raw.TensorListScatterV2(
        tensor=x, indices=[3, 0, 1, 4], element_shape=[2], num_elements=6
    )
    reserved = raw.TensorListReserve(element_shape=[2], num_elements=3, element_dtype=tf.float32)
    written = raw.TensorListSetItem(input_handle=reserved, index=1, item=x[1])
    resized = raw.TensorListResize(input_handle=whole, size=2)
    split = raw.TensorListSplit(
        tensor=x, element_shape=[-1, 2], lengths=tf.constant([1, 3], tf.int64)
    )
    joined = raw.TensorListConcatV2(
        input_handle=split, element_shape=[-1, 2], leading_dims=tf.constant([], tf.int64),
        element_dtype=tf.float32,
    )  # fmt: skip

    def stacked(handle):
        return raw.TensorListStack(input_handle=handle, element_shape=[2], element_dtype=tf.float32)

    return [
        stacked(pushed), popped.tensor, stacked(popped.output_handle), stacked(scattered),
        stacked(written), stacked(resized), joined.tensor,
        tf.cast(joined.lengths, tf.float32),
        raw.TensorListGather(input_handle=whole, indices=[2, 0], element_shape=[2],
                             element_dtype=tf.float32),
        raw.TensorListGetItem(input_handle=whole, index=3, element_shape=[2],
                              element_dtype=tf.float32),
        tf.cast(raw.TensorListLength(input_handle=scattered), tf.float32),
    ]  # fmt: skip


def test_lists_hold_what_was_put_in():
    case = Case(lists, normal(4, 2))
    used = {node.native_op for node in case.model.graph.nodes} & LISTS.keys()
    assert len(used) > 10
    agrees(case)


def test_a_list_is_fetched_and_fed_as_its_elements():
    case = Case(lists, normal(4, 2))
    node = case.node("TensorListPushBack")
    whole = case.session.run(case.feeds, [node.outputs[0]])[node.outputs[0]]
    assert len(whole) == 5
    assert np.array_equal(whole[4], case.arrays[0][0].astype(np.float64) * 3.0)
    again = case.session.run({node.outputs[0]: [2 * each for each in whole]}, ["y0"])
    assert np.array_equal(again["y0"], 2 * np.stack(whole))


def test_an_element_that_was_never_set_is_zero():
    def function(x):
        handle = raw.TensorListReserve(element_shape=-1, num_elements=2, element_dtype=tf.float32)
        handle = raw.TensorListSetItem(input_handle=handle, index=0, item=x)
        return raw.TensorListGetItem(
            input_handle=handle, index=1, element_shape=-1, element_dtype=tf.float32
        )

    case = Case(function, normal(3))
    # Its neighbor fixes its shape.
    assert np.array_equal(case.ran()["y0"], np.zeros(3))
    assert np.array_equal(case.meant()["y0"], np.zeros(3))


def test_the_branches_of_old_are_switches():
    nodes = [
        placeholder("x"), constant("zero", np.float32(0.0)), constant("two", np.float32(2.0)),
        ("total", "Sum", ["x", "axes"], {"T": tf.float32, "Tidx": tf.int32}),
        constant("axes", np.array([0], np.int32)),
        binary("test", "Greater", "total", "zero"),
        ("fork", "Switch", ["x", "test"], {"T": tf.float32}),
        unary("yes", "Exp", "fork:1"), binary("no", "Mul", "fork", "two"),
        ("y", "Merge", ["no", "yes"], {"T": tf.float32, "N": 2}),
        unary("out", "Tanh", "y"),
    ]  # fmt: skip
    model = TensorflowFramework().load(graph(*nodes), {})
    session = opened(model)
    for x in (normal(4) + 5.0, normal(4) - 5.0):
        wanted = np.exp(x.astype(np.float64)) if x.sum() > 0 else 2.0 * x.astype(np.float64)
        result = session.run({"x": x}, ["out", "y", "y:1", "yes"])
        assert np.allclose(result["y"], wanted, rtol=1e-12)
        assert result["y:1"] == (1 if x.sum() > 0 else 0)
        assert (result["yes"] is None) == (x.sum() <= 0)


def test_the_loops_of_old_are_refused_by_name():
    nodes = [
        placeholder("x"),
        ("in", "Enter", ["x"], {"T": tf.float32, "frame_name": "loop"}),
        unary("out", "Exit", "in"),
    ]
    model = TensorflowFramework().load(graph(*nodes), {})
    with pytest.raises(UnreadableModelError, match="Enter") as caught:
        opened(model)
    assert caught.value.code == "UNSUPPORTED_OP"


def test_a_node_that_fails_is_named():
    def function(x):
        return tf.reshape(x, tf.cast(tf.shape(x) * 0 + 7, tf.int32))

    case = Case(lambda x: function(x) * 2.0, normal(7))
    with pytest.raises(RuntimeFailedError, match="Reshape") as caught:
        case.session.run({"x0": normal(5)}, ["y0"])
    assert caught.value.code == "NODE_FAILED"
    assert caught.value.node == case.node("Reshape").name


def test_a_constant_that_data_has_chosen_is_computed_as_data():
    def function(x):
        table = tf.constant([0.1, 0.7, 1.3])
        picked = tf.cond(tf.reduce_sum(x) > 0, lambda: table, lambda: -table)
        return tf.exp(picked)

    case = Case(function, np.abs(normal(3)))
    exact = np.exp(np.float32([0.1, 0.7, 1.3]).astype(np.float64))
    assert np.array_equal(case.meant()["y0"], exact)
    assert not np.array_equal(case.meant(Noise(seed=1, rounding=True))["y0"], exact)
