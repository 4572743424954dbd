"""The TFLite oracle: cuts, widths, state, bodies, grids, noise, and what it refuses."""

import numpy as np
import pytest

from isomorph.core.errors import RuntimeFailedError, UnreadableModelError, UsageError
from isomorph.core.trace import Environment, Noise
from isomorph.frameworks.tflite.framework import TfliteFramework
from isomorph.frameworks.tflite.oracle import TfliteOracle
from tflite_building import Building, small, unknown


def opened(source):
    given = source if isinstance(source, bytes) else str(source)
    model = TfliteFramework().load(given, {})
    return TfliteOracle().open(model, Environment(runtime="tflite_oracle"))


def image(seed=0):
    return np.random.default_rng(seed).normal(size=(2, 6, 6, 3)).astype(np.float32)


@pytest.fixture(scope="module")
def net():
    return opened(small().data())


def quantized_sum():
    """int8 in, a sum with a stored int8 tensor, int8 out."""
    model = Building()
    graph = model.graph()
    x = graph.tensor("x", (1, 4), "int8", scale=0.1, zero=5)
    weights = [[100, -100, 50, 0]]
    w = graph.tensor("w", (1, 4), "int8", weights, scale=0.02, zero=0)
    y = graph.tensor("y", (1, 4), "int8", scale=0.1, zero=-5)
    z = graph.tensor("z", (4, 1), "int8", scale=0.1, zero=-5)
    order = graph.tensor("order", (2,), "int32", [1, 0])
    graph.op("ADD", [x, w], [y], "Add", version=2)
    graph.op("TRANSPOSE", [y, order], [z], "Transpose", version=2)
    graph.ends([x], [z])
    return model.data()


def test_its_capabilities(net):
    assert net.capabilities.fetch == net.capabilities.feed == "all"
    assert net.capabilities.noise
    assert net.environment.precision == "float64"


def test_what_is_fed_cuts_the_graph(net):
    product = np.full((2, 6, 6, 4), 0.5)
    result = net.run({"net/product": product}, ["net/mean"])
    np.testing.assert_allclose(result["net/mean"], np.full((2, 4), 0.5), rtol=1e-15)


def test_constants_may_be_fetched_and_fed(net):
    bias = net.run({}, ["head/bias"])["head/bias"]
    mean = np.ones((2, 4))
    plain = net.run({"net/mean": mean}, ["net/logits"])["net/logits"]
    moved = net.run({"net/mean": mean, "head/bias": bias + 1}, ["net/logits"])["net/logits"]
    np.testing.assert_allclose(moved, plain + 1, rtol=1e-14)


def test_a_missing_input_and_an_unknown_tensor_are_reported(net):
    with pytest.raises(UsageError, match="nothing was fed for 'x'") as caught:
        net.run({}, ["net/logits"])
    assert caught.value.code == "MISSING_INPUT"
    with pytest.raises(UsageError, match="no tensor 'net/logit'") as caught:
        net.run({"x": image()}, ["net/logit"])
    assert "net/logits" in caught.value.fix


def test_an_operator_without_meaning_is_refused_by_name():
    with pytest.raises(UnreadableModelError, match="Frobnicate") as caught:
        opened(unknown().data())
    assert caught.value.code == "UNSUPPORTED_OP"


def test_a_node_that_cannot_be_computed_is_named(net):
    with pytest.raises(RuntimeFailedError, match="FULLY_CONNECTED:5") as caught:
        net.run({"net/mean": np.ones((2, 3))}, ["net/logits"])
    assert caught.value.code == "NODE_FAILED"


def test_constants_are_folded_in_their_declared_type():
    """0.1f + 0.2f is a float32 before it meets the data."""
    model = Building()
    graph = model.graph()
    x, y = graph.tensor("x", (1,)), graph.tensor("y", (1,))
    a, b = (graph.tensor(n, (1,), value=[v]) for n, v in (("a", 0.1), ("b", 0.2)))
    both = graph.tensor("sum", (1,))
    graph.op("ADD", [a, b], [both], "Add")
    graph.op("MUL", [x, both], [y], "Mul")
    graph.ends([x], [y])
    session = opened(model.data())
    declared = float(np.float32(0.1) + np.float32(0.2))
    assert declared != float(np.float32(0.1)) + float(np.float32(0.2))
    result = session.run({"x": np.ones(1, np.float32)}, ["y", "sum"])
    assert result["y"][0] == declared
    assert result["sum"].dtype == np.float64


def test_quantized_tensors_are_integers_and_floats_are_put_on_their_grid():
    session = opened(quantized_sum())
    x = np.array([[15, -5, 5, 127]], np.int8)
    whole = session.run({"x": x}, ["y", "z"])
    assert whole["y"].dtype == np.int8
    # (1 + 2, −1 − 2, 0 + 1, 12.2 + 0) / 0.1 − 5.
    np.testing.assert_array_equal(whole["y"], [[25, -35, 5, 117]])
    np.testing.assert_array_equal(whole["z"], whole["y"].T)
    real = session.run({"x": np.array([[1.0, -1.0, 0.0, 12.2]])}, ["y"])
    np.testing.assert_array_equal(real["y"], whole["y"])


def test_only_quantizers_lose_and_moving_is_none():
    session = opened(quantized_sum())
    x = np.array([[15, -5, 5, 60]], np.int8)
    calm = session.run({"x": x}, ["y"])["y"].astype(float)
    draws = [
        session.run({"x": x}, ["y", "z"], noise=Noise(seed=k, quantizers=True)) for k in range(40)
    ]
    for draw in draws:
        assert draw["y"].dtype == np.float64
        np.testing.assert_allclose(draw["z"], draw["y"].T, rtol=1e-12)
    # Half a step of the ideal grid for this range is far below half a quantum of the declared one.
    spread = np.std([draw["y"] for draw in draws], axis=0)
    assert np.all(spread[0, :3] > 0)
    assert np.all(spread < 0.5)
    np.testing.assert_allclose(np.mean([d["y"] for d in draws], axis=0), calm, atol=0.2)


def test_equal_seeds_disturb_equally_and_pieces_as_the_whole(net):
    feeds, noise = {"x": image()}, Noise(seed=3, rounding=True)
    one, two = (net.run(feeds, ["net/conv", "net/logits"], noise=noise) for _ in range(2))
    alone = net.run(feeds, ["net/conv"], noise=noise)["net/conv"]
    other = net.run(feeds, ["net/conv"], noise=Noise(seed=4, rounding=True))["net/conv"]
    calm = net.run(feeds, ["net/conv"])["net/conv"]
    np.testing.assert_array_equal(one["net/logits"], two["net/logits"])
    np.testing.assert_array_equal(one["net/conv"], alone)
    assert 0 < np.max(np.abs(alone - calm)) < 1e-4
    assert not np.array_equal(alone, other)


def test_named_constants_move_by_one_rounding_of_their_type(net):
    feeds = {"net/mean": np.zeros((2, 4))}
    bias = net.run({}, ["head/bias"])["head/bias"]
    noise = Noise(seed=1, constants=("head/bias",))
    moved = net.run(feeds, ["net/logits"], noise=noise)["net/logits"]
    share = np.abs(moved / bias - 1)
    assert np.all((share > 0) & (share < 6 * 2.0**-24))
    calm = net.run(feeds, ["net/logits"], noise=Noise(seed=1))["net/logits"]
    np.testing.assert_array_equal(calm, np.broadcast_to(bias, (2, 5)))


def test_inexact_options_move_by_one_rounding():
    model = Building()
    graph = model.graph()
    x, y = graph.tensor("x", (1,)), graph.tensor("y", (1,))
    graph.op("LEAKY_RELU", [x], [y], "LeakyRelu", alpha=0.3)
    graph.ends([x], [y])
    session = opened(model.data())
    feeds = {"x": np.array([-1.0])}
    moved = session.run(feeds, ["y"], noise=Noise(seed=2, attributes=True))["y"]
    assert 0 < abs(moved[0] + float(np.float32(0.3))) < 1e-7


def test_every_run_begins_from_the_initial_state(converted):
    session = opened(converted / "counter.tflite")
    x = np.full((1, 4), 0.5, np.float32)
    name = "sum"
    first, second = (session.run({"x": x}, [name])[name] for _ in range(2))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(first, 2 * (1 + np.tanh(0.5)), rtol=1e-15)


@pytest.mark.parametrize("sign", [1, -1])
def test_branches_and_loops_are_taken_by_the_data(converted, sign):
    session = opened(converted / "branches.tflite")
    x = sign * np.array([[1.0, 2.0, 0.5, 3.0]], np.float32)
    result = session.run({"x": x, "n": np.int32(2)}, ["result"])["result"]
    y = np.exp(x.astype(float)) if sign > 0 else np.abs(x)
    np.testing.assert_allclose(result, (y * 0.5 + 1) * 0.5 + 1, rtol=1e-14)
    again = session.run({"x": np.vstack([x, x]), "n": np.int32(0)}, ["result"])["result"]
    assert again.shape == (2, 4)


def test_state_of_a_cell_is_zero_where_nothing_was_stored():
    model = Building()
    graph = model.graph()
    rng = np.random.default_rng(0)
    x = graph.tensor("x", (1, 3))
    features = graph.tensor("f", (4, 3), value=rng.normal(size=(4, 3)))
    times = graph.tensor("t", (4, 5), value=rng.normal(size=(4, 5)))
    state = graph.tensor("state", (1, 20), variable=True)
    y = graph.tensor("y", (1, 4))
    graph.op("SVDF", [x, features, times, -1, state], [y], "SVDF", rank=1)
    graph.ends([x], [y])
    session = opened(model.data())
    feeds = {"x": np.ones((1, 3))}
    empty = session.run(feeds, ["y"])["y"]
    np.testing.assert_array_equal(session.run(feeds, ["y"])["y"], empty)
    filled = session.run({**feeds, "state": np.ones((1, 20))}, ["y"])["y"]
    assert not np.allclose(filled, empty)
