"""Draws that serve the budget of the outputs and the search for a faulty node are made once."""

import types

import numpy as np
import pytest

from isomorph.core.errors import RuntimeFailedError
from isomorph.core.model import Graph, Node, TensorSpec
from isomorph.core.stated_numbers import TENSOR_DRAWS
from isomorph.core.trace import Capabilities, Noise
from isomorph.match.tensor_capture import TensorCapture
from isomorph.measure.evaluated_model import EvaluatedModel
from isomorph.measure.shared_draws import SharedDraws, share_draws
from isomorph.oracle.noise_stats import disturbed

X = np.linspace(0.1, 1.0, 12).reshape(3, 4)
NOISE = Noise(seed=0, rounding=True)


def graph():
    def spec(name):
        return TensorSpec(name=name, dtype="float32", shape=(3, 4))

    def node(name, source, target):
        return Node(name=name, op="Sin", native_op="Sin", inputs=(source,), outputs=(target,))

    return Graph(
        name="sines",
        inputs=(spec("x"),),
        outputs=(spec("y"),),
        nodes=(node("one", "x", "inner"), node("two", "inner", "y")),
        tensors={name: spec(name) for name in ("x", "inner", "y")},
        constants={},
    )


class Oracle:
    """Two sines, each disturbed; runs are counted."""

    capabilities = Capabilities(fetch="all", feed="all", noise=True)
    environment = None

    def __init__(self):
        self.runs = self.captures = 0

    def run(self, feeds, fetch, *, noise=None):
        self.runs += 1
        return self._run(feeds, fetch, noise=noise)

    def _run(self, feeds, fetch, *, noise=None):
        random = np.random.default_rng(0 if noise is None else noise.seed)
        step = 0.0 if noise is None else 1e-7 * noise.scale
        inner = np.sin(feeds["x"]) + step * random.standard_normal(X.shape)
        found = {"inner": inner, "y": np.sin(inner) + step * random.standard_normal(X.shape)}
        return {name: found[name] for name in fetch}

    def disturbed(self, feeds, fetch, noises, draws_of=()):
        self.captures += 1
        plain = types.SimpleNamespace(run=self._run)
        return disturbed(plain, feeds, fetch, noises, draws_of=draws_of)

    def close(self):
        self.closed = True


def shared(oracle):
    capture = TensorCapture(graph(), oracle, {"x": X}, NOISE)
    return capture, SharedDraws(oracle, capture, ["y"])


def test_the_first_draws_are_those_of_the_oracle_and_computed_together():
    oracle = Oracle()
    capture, session = shared(oracle)
    for seed in range(TENSOR_DRAWS):
        noise = Noise(seed=seed, rounding=True)
        found = session.run(capture.feeds, ["y"], noise=noise)
        np.testing.assert_array_equal(found["y"], Oracle().run({"x": X}, ["y"], noise=noise)["y"])
    assert (oracle.runs, oracle.captures) == (0, 1)


def test_the_search_gets_the_tensors_of_those_draws():
    oracle, alone = Oracle(), TensorCapture(graph(), Oracle(), {"x": X}, NOISE)
    capture, session = shared(oracle)
    session.run(capture.feeds, ["y"], noise=NOISE)
    found = TensorCapture(graph(), session, capture.feeds, NOISE)
    found.compute()
    alone.compute()
    assert oracle.captures == 1
    assert found.spread == alone.spread
    assert found.prints == alone.prints
    np.testing.assert_array_equal(found.values["inner"], alone.values["inner"])
    found.compute()
    assert oracle.captures == 2, "the tensors are not held for whoever has them already"


@pytest.mark.parametrize(
    ("feeds", "fetch", "noise"),
    [
        (None, ["y"], Noise(seed=TENSOR_DRAWS, rounding=True)),
        (None, ["y"], Noise(seed=0, rounding=True, scale=4.0)),
        (None, ["y"], Noise(seed=0, constants=("w",))),
        (None, ["inner"], NOISE),
        (None, ["y"], None),
        ({"x": X}, ["y"], NOISE),
    ],
    ids=["a further draw", "wider", "constants", "another tensor", "no noise", "other feeds"],
)
def test_whatever_else_is_asked_is_run(feeds, fetch, noise):
    oracle = Oracle()
    capture, session = shared(oracle)
    session.run(capture.feeds if feeds is None else feeds, fetch, noise=noise)
    assert (oracle.runs, oracle.captures) == (1, 0)


def test_draws_are_made_without_the_tensors_where_these_cannot_be_computed():
    oracle = Oracle()
    capture, session = shared(oracle)

    def refused(*_, **__):
        oracle.captures += 1
        raise RuntimeFailedError("DISK_FULL", "tensors could not be written")

    oracle.disturbed = refused
    for seed in range(3):
        noise = Noise(seed=seed, rounding=True)
        found = session.run(capture.feeds, ["y"], noise=noise)
        np.testing.assert_array_equal(found["y"], Oracle().run({"x": X}, ["y"], noise=noise)["y"])
    assert (oracle.runs, oracle.captures) == (3, 1)


def evaluated(oracle, seed=0):
    return EvaluatedModel(
        role="candidate", model=types.SimpleNamespace(graph=graph()), feeds={"x": X},
        runtime=lambda: oracle, plain=lambda: oracle, oracle=lambda: oracle, seed=seed,
    )  # fmt: skip


@pytest.mark.parametrize("seed", [0, 3])
def test_a_model_that_shares_its_draws_makes_one_pass_for_each(seed):
    oracle = Oracle()
    model = evaluated(oracle, seed)
    share_draws(model)
    before = model.oracle()
    share_draws(model)
    assert model.oracle() is before, "once is enough"
    assert model.rounding()["y"].draws == 3
    assert (oracle.runs, oracle.captures) == (1, 1), "the oracle itself, and all draws"
    model.draw_more(5)
    assert model.rounding()["y"].draws == 5
    assert (oracle.runs, oracle.captures) == (3, 1), "the fourth and the fifth draw alone"


def test_a_session_that_draws_elsewhere_is_left_alone():
    oracle = Oracle()
    plain = types.SimpleNamespace(run=oracle.run, capabilities=oracle.capabilities)
    model = evaluated(plain)
    share_draws(model)
    assert model.oracle() is plain
