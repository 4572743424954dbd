"""A softmax over all axes from one on is distinguished from one over that axis alone."""

from types import SimpleNamespace

import numpy as np
import pytest

from isomorph.core.model import Graph, Node
from isomorph.diagnose.flattened_softmax import taken_as_one

X = np.random.default_rng(0).normal(size=(2, 3, 4, 5))


def softmax(x, axes):
    shares = np.exp(x - x.max(axis=axes, keepdims=True))
    return shares / shares.sum(axis=axes, keepdims=True)


FUNCTIONS = {
    "Softmax": softmax,
    "LogSoftmax": lambda x, axes: np.log(softmax(x, axes)),
    "Hardmax": lambda x, axes: (x == x.max(axis=axes, keepdims=True)).astype(float),
}


def context(wrong, right, op="Softmax", axis=1, x=X):
    node = Node(
        name="n", op=op, native_op=op, inputs=("x",), outputs=("y",), attributes={"axis": axis}
    )
    graph = Graph(name="g", inputs=(), outputs=(), nodes=(node,), tensors={}, constants={})
    return SimpleNamespace(
        candidate=graph,
        nodes=(node,),
        wrong=wrong,
        right=right,
        value=lambda *_: x,
        equals=lambda value: np.allclose(value, right, rtol=1e-9, atol=1e-12),
    )


@pytest.mark.parametrize("op", FUNCTIONS)
@pytest.mark.parametrize("axis", [1, 2, -2])
def test_it_is_named_which_side_takes_the_axes_as_one(op, axis):
    first = axis % 4
    alone = FUNCTIONS[op](X, (first,))
    together = FUNCTIONS[op](X, tuple(range(first, 4)))
    node, found, flat, experiment = taken_as_one(context(together, alone, op, axis))
    assert (node.name, found, flat, experiment.agrees) == ("n", first, True, True)
    _, _, flat, _ = taken_as_one(context(alone, together, op, axis))
    assert flat is False


def test_another_fault_is_not_this_one():
    alone, together = softmax(X, (1,)), softmax(X, (1, 2, 3))
    assert taken_as_one(context(together * 1.001, alone)) is None
    assert taken_as_one(context(together, alone * 1.001)) is None
    assert taken_as_one(context(softmax(X, (2,)), alone)) is None


def test_over_the_last_axis_both_are_the_same():
    assert taken_as_one(context(softmax(X, (2,)), softmax(X, (3,)), axis=3)) is None


def test_what_is_no_softmax_or_states_no_axis_is_left_alone():
    alone, together = softmax(X, (1,)), softmax(X, (1, 2, 3))
    assert taken_as_one(context(together, alone, op="Relu")) is None
    assert taken_as_one(context(together, alone, axis=None)) is None
    assert taken_as_one(context(together, alone, x=None)) is None
