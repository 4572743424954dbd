import numpy as np
import pytest

from isomorph.core.rule_examples import linted_model, node, spec
from isomorph.inputs.extreme_search import search, steps_along
from isomorph.inputs.input_space import input_space

TARGET = np.sign(np.random.default_rng(5).standard_normal(12))


@pytest.fixture
def space():
    graph = linted_model(node("Relu"), inputs=(spec("x", shape=(12,)),)).model.graph
    return input_space(graph, {"x": np.zeros(12, np.float32)}, {"x": (-1.0, 2.0)}, {})


def values(inputs):
    return [float(np.asarray(each["x"], np.float64) @ TARGET) for each in inputs]


def test_the_corner_of_a_linear_function_is_found(space):
    start = {"x": np.zeros(12, np.float32)}
    found = search(space, [(start, 0.0)], values, np.random.default_rng(0))
    best = float(np.where(TARGET > 0, 2.0, 1.0).sum())
    assert found.value > 0.85 * best
    assert found.feeds["x"].min() >= -1
    assert found.feeds["x"].max() <= 2
    assert found.evaluations < 24 * 18


def test_a_gradient_leads_there_at_once(space):
    start = {"x": np.zeros(12, np.float32)}
    found = search(
        space,
        [(start, 0.0)],
        values,
        np.random.default_rng(0),
        propose=lambda best: steps_along(space, best, {"x": TARGET}, (1.0,)),
    )
    assert found.value == pytest.approx(float(np.where(TARGET > 0, 2.0, 1.0).sum()))


def test_it_ends_at_what_is_enough_and_ignores_what_is_no_number(space):
    start = {"x": np.zeros(12, np.float32)}
    done = search(space, [(start, 5.0)], values, np.random.default_rng(0), enough=4.0)
    assert done.evaluations == 0
    found = search(
        space, [(start, 0.0)], lambda inputs: [float("nan")] * len(inputs), np.random.default_rng(0)
    )
    assert (found.value, found.feeds["x"].any()) == (0.0, False)
