"""Made-up inputs that say nothing: overflow, NaN and ties that the given input does not have."""

from types import SimpleNamespace

import numpy as np
import pytest

from isomorph.core.model import Graph, Node, TensorSpec
from isomorph.core.trace import Capabilities
from isomorph.localize.input_domain import larger, out_of_range, outside_domain

FLOATS = TensorSpec(name="x", dtype="float32", shape=(4,))
X = np.array([0.5, -2.0, 1.0, 3.0], np.float32)


def evaluated(function, x, *, decides=""):
    """A model of one tensor ``a``, which a node that ``decides`` may read."""

    def run(feeds, fetch, *, noise=None):
        with np.errstate(all="ignore"):
            made = function(np.asarray(feeds["x"], np.float64))
        return {name: {"a": made, "y": np.argmax(made)}[name] for name in fetch}

    nodes = [Node(name="f", op="F", native_op="F", inputs=("x",), outputs=("a",))]
    tensors = {"a": TensorSpec(name="a", dtype="float32", shape=(4,))}
    if decides:
        label = Node(name="label", op=decides, native_op="", inputs=("a",), outputs=("y",))
        nodes.append(label)
        tensors["y"] = TensorSpec(name="y", dtype="int64", shape=())
    graph = Graph(
        name="g", framework="onnx", inputs=(FLOATS,), outputs=(), nodes=tuple(nodes),
        tensors=tensors, constants={},
    )  # fmt: skip
    session = SimpleNamespace(run=run, capabilities=Capabilities())
    return SimpleNamespace(
        model=SimpleNamespace(graph=graph), feeds={"x": np.float32(x)}, oracle=lambda: session
    )


def sides(function, x, **options):
    return evaluated(np.abs, x, **options), evaluated(function, x, **options)


@pytest.mark.parametrize(
    ("function", "x", "expected"),
    [
        (np.exp, 16 * X, False),
        (np.exp, 64 * X, True),  # beyond float32
        (np.exp, 1000 * X, True),  # beyond float64
        (np.sqrt, -X, False),  # a NaN, and no larger than the given input
        (lambda x: np.log(x + 4), 64 * X, True),
    ],
)
def test_numbers_that_leave_the_range_of_floats(function, x, expected):
    assert out_of_range(sides(function, x), sides(function, X)) is expected


def test_an_infinity_is_more_than_a_number_beyond_float32():
    given, here = (sides(np.exp, scale * X) for scale in (100, 1000))
    assert out_of_range(here, given)
    assert not out_of_range(given, given)


def test_an_infinity_that_the_given_input_has_as_well_says_nothing():
    masked = (lambda x: np.where(x < 0, -np.inf, x)), 4 * X
    assert not out_of_range(sides(*masked), sides(masked[0], X))


def test_a_nan_that_the_given_input_does_not_have_is_outside_the_domain():
    positive = np.abs(X)
    assert outside_domain(sides(np.log, -positive), sides(np.log, positive))
    assert not outside_domain(sides(np.log, 4 * positive), sides(np.log, positive))


@pytest.mark.parametrize(
    ("decides", "function", "expected"),
    [
        ("ArgMax", np.tanh, True), ("Hardmax", np.tanh, True), ("ArgMin", np.tanh, True),
        ("TopK", np.tanh, True), ("ArgMax", lambda x: np.maximum(x, -50), False),
        ("ArgMin", lambda x: np.maximum(x, -50), True), ("Round", np.tanh, False),
        ("", np.tanh, False),
    ],
)  # fmt: skip
def test_ties_count_where_they_are_ordered(decides, function, expected):
    here, given = (
        sides(function, scale * np.float32([0.5, -2.0, -1.0, 3.0]), decides=decides)
        for scale in (64, 1)
    )
    assert outside_domain(here, given) is expected


def test_ties_that_the_given_input_has_as_well_do_not_count():
    tied = np.float32([3, 3, 1, 0])
    assert not outside_domain(*(sides(np.abs, x, decides="TopK") for x in (-4 * tied, tied)))


def test_a_larger_input_has_a_larger_number_of_some_real_input():
    given = {"x": X, "n": np.array([3])}
    assert larger({"x": 2 * X}, given)
    assert not larger({"x": -X, "n": np.array([9])}, given)
