"""The shared evaluator: constants as declared, data in float64, noise, bodies, streaming."""

import numpy as np
import pytest

from isomorph.core.errors import RuntimeFailedError
from isomorph.core.trace import Environment, Noise, RunRequest
from isomorph.oracle import stored_matrix, weights
from isomorph.oracle.control_flow import as_data, chosen, truth, while_loop
from isomorph.oracle.evaluator import Evaluator, own_constant
from isomorph.oracle.peak_bytes import run_key
from isomorph.oracle.session import OracleSession
from isomorph.oracle.stored_matrix import StoredMatrix
from isomorph.oracle.value import DEAD, EvalValue
from toy_graph import ToyGraph

X = {"x": np.ones(3, np.float32)}


def evaluator(steps, stored=None, **more):
    graph = ToyGraph(steps, stored or {}, **more)
    return Evaluator(graph), graph


def test_data_is_computed_in_float64_and_constants_in_their_type():
    oracle, _ = evaluator([("third", ["x"], "y"), ("third", ["w"], "c")], {"w": [1.0]})
    found = oracle.run(X, ["y", "c"])
    assert found["y"][0] == 1 / 3
    assert found["c"][0] == np.float64(np.float32(1) / np.float32(3))


def test_only_what_is_fetched_is_computed_and_what_is_fed_cuts():
    oracle, graph = evaluator([("third", ["x"], "a"), ("third", ["a"], "y"), ("third", ["x"], "z")])
    assert oracle.run({"a": np.full(1, 3.0)}, ["y"])["y"] == 1
    assert graph.computed == ["third:1"]


def test_what_follows_from_constants_is_computed_once():
    oracle, graph = evaluator([("third", ["w"], "c"), ("add", ["x", "c"], "y")], {"w": [1.0]})
    for _ in range(2):
        oracle.run(X, ["y"])
    assert graph.computed == ["third:0", "add:1", "add:1"]
    oracle.run({**X, "c": np.zeros(1, np.float32)}, ["y"])
    assert graph.computed.count("third:0") == 1
    oracle.close()
    oracle.run(X, ["y"])
    assert graph.computed.count("third:0") == 2


def test_a_constant_keeps_its_value_under_noise_and_moves_when_it_is_lifted():
    oracle, _ = evaluator([("third", ["w"], "c"), ("add", ["x", "c"], "y")], {"w": [1.0, 2.0, 4.0]})
    still, moved = (oracle.run(X, ["c", "y"], n)["c"] for n in (None, Noise(seed=1, rounding=True)))
    assert 0 < np.max(np.abs(moved / still - 1)) < 1e-6


def test_equal_noise_moves_a_piece_as_the_whole():
    oracle, _ = evaluator([("third", ["x"], "a"), ("third", ["a"], "y")])
    noise = Noise(seed=5, rounding=True)
    whole = oracle.run(X, ["a", "y"], noise)
    assert not np.array_equal(whole["y"], oracle.run(X, ["y"])["y"])
    assert np.array_equal(oracle.run({"a": whole["a"]}, ["y"], noise)["y"], whole["y"])


def test_named_constants_and_inexact_attributes_move_by_one_rounding():
    oracle, _ = evaluator(
        [("scale", ["x"], "a"), ("add", ["a", "w"], "y")], {"w": [0.1]}, factor=0.3
    )
    still = oracle.run(X, ["w", "a"])
    named = oracle.run(X, ["w", "a"], Noise(seed=2, constants=("w",)))
    assert named["w"] != still["w"]
    assert np.array_equal(named["a"], still["a"])
    attributes = oracle.run(X, ["w", "a"], Noise(seed=2, attributes=True))
    assert attributes["w"] == still["w"]
    assert 0 < np.max(np.abs(attributes["a"] - still["a"])) < 1e-6


def test_a_node_that_cannot_be_computed_is_named():
    oracle, _ = evaluator([("fail", ["x"], "y")])
    with pytest.raises(RuntimeFailedError, match="could not compute a node") as caught:
        oracle.run(X, ["y"])
    assert (caught.value.code, caught.value.where) == ("NODE_FAILED", "fail:0")


def test_a_body_reads_the_graph_around_it_and_has_noise_of_its_own():
    body = ToyGraph([("third", ["outer"], "t"), ("add", ["t", "own"], "y")], {"own": [1.0]}, ["y"])

    def rule(executor, step, inputs, read, scope):
        return executor.body(body, {"unread": inputs[0]}, scope.inside(step.index, 7), read)

    oracle, _ = evaluator([("third", ["x"], "outer"), ("run", ["x"], "y")], rules={"run": rule})
    assert np.allclose(oracle.run({**X, "outer": np.full(3, 3.0)}, ["y"])["y"], 2.0)
    noise = Noise(seed=1, rounding=True)
    assert not np.array_equal(
        oracle.run({**X, "outer": np.full(3, 1.0)}, ["y"], noise)["y"],
        oracle.run({**X, "outer": np.full(3, 1.0)}, ["y"])["y"],
    )


def test_a_session_hands_each_tensor_over_once_it_is_computed():
    oracle, graph = evaluator([("third", ["x"], "a"), ("third", ["a"], "y")])
    session = OracleSession(oracle, Environment(runtime="toy"))
    seen = []
    session.hand_over(X, ["y", "a"], lambda name, value: seen.append((name, len(graph.computed))))
    assert seen == [("a", 1), ("y", 2)]
    assert list(session.run(X, ["y", "a"])) == ["y", "a"]


def test_a_constant_that_data_has_chosen_is_data():
    constant, data = EvalValue(np.ones(1, np.float32), constant=True), EvalValue(np.ones(1))
    assert chosen([constant], constant) == [constant]
    assert chosen([constant, data], data)[1] is data
    assert not chosen([constant], constant, data)[0].constant
    assert as_data(DEAD) is DEAD


def test_a_loop_carries_data_once_a_decision_was_one():
    def body(values, count):
        return [EvalValue(values[0].data + 1, constant=True)]

    for fixed in (True, False):
        found = while_loop(
            [EvalValue(np.zeros(1, np.float32), constant=True)],
            lambda values, _, fixed=fixed: [EvalValue(values[0].data < 3, constant=fixed)],
            body,
        )
        assert (found[0].data[0], found[0].constant) == (3, fixed)
    assert truth(EvalValue(np.array([True])))


def test_a_constant_fed_its_own_value_stays_one():
    assert own_constant(np.array([0.5, np.nan]), "float16").constant
    assert own_constant(np.array([0.1]), "float16") is None


def multiplied(monkeypatch):
    """An oracle with a matrix that is not kept, and the number of passes over it so far."""
    monkeypatch.setattr(stored_matrix, "LARGE", 1)
    monkeypatch.setattr(weights, "LIFTED_WEIGHT_BYTES", 1)
    passes, plain = [], StoredMatrix._multiplied

    def counted(self, rows):
        passes.append(len(rows))
        return plain(self, rows)

    monkeypatch.setattr(StoredMatrix, "_multiplied", counted)
    stored = {"w": np.random.default_rng(0).normal(size=(3, 4)), "b": np.ones(4)}
    steps = [("product", ["x", "w"], "a"), ("third", ["a"], "c"), ("add", ["c", "b"], "y")]
    return evaluator(steps, stored)[0], passes


ROWS = {"x": np.random.default_rng(1).normal(size=(2, 3)).astype(np.float32)}


def test_draws_side_by_side_are_those_one_after_the_other_with_one_pass_over_a_weight(monkeypatch):
    oracle, passes = multiplied(monkeypatch)
    plain = oracle.run(ROWS, ["a", "y"])
    noises = [Noise(seed=seed, rounding=True) for seed in range(3)]
    assert oracle.draws_at_once(ROWS, ["a", "y"]) >= 3
    alone = [oracle.run(ROWS, ["a", "y"], noise) for noise in noises]
    passes.clear()
    session = OracleSession(oracle, Environment(runtime="toy"))
    requests = [RunRequest(feeds=ROWS, fetch=["a", "y"], noise=noise) for noise in noises]
    together = session.run_many(requests)
    assert passes == [6], "three draws of two rows"
    for one, other in zip(alone, together, strict=True):
        for name in ("a", "y"):
            np.testing.assert_allclose(one[name], other[name], rtol=1e-14)
            assert not np.array_equal(other[name], plain[name])
    assert len({found["y"].tobytes() for found in together}) == 3


def test_runs_of_other_numbers_and_sizes_share_the_pass_over_a_weight(monkeypatch):
    oracle, passes = multiplied(monkeypatch)
    longer = {"x": np.concatenate([ROWS["x"], ROWS["x"] + 1])}
    oracle.run(ROWS, ["a", "y"])
    noise = Noise(seed=1, rounding=True)
    given = [(ROWS, None), (longer, None), (ROWS, noise), (longer, noise)]
    alone = [oracle.run(feeds, ["a", "y"], noise) for feeds, noise in given]
    passes.clear()
    session = OracleSession(oracle, Environment(runtime="toy"))
    requests = [RunRequest(feeds=feeds, fetch=["a", "y"], noise=noise) for feeds, noise in given]
    together = session.run_many(requests)
    # The sizes of the sums, by which the two draws are disturbed, share a second pass.
    assert passes == [12, 6], "two, four, two and four rows"
    for one, other in zip(alone, together, strict=True):
        for name in ("a", "y"):
            np.testing.assert_allclose(one[name], other[name], rtol=1e-14)


def test_a_weight_that_is_rearranged_first_is_shared_by_draws_and_counts_for_none(monkeypatch):
    monkeypatch.setattr(stored_matrix, "LARGE", 1)
    monkeypatch.setattr(weights, "LIFTED_WEIGHT_BYTES", 1)
    passes, plain = [], StoredMatrix._multiplied

    def counted(self, rows):
        passes.append(len(rows))
        return plain(self, rows)

    monkeypatch.setattr(StoredMatrix, "_multiplied", counted)
    stored = {"w": np.random.default_rng(0).normal(size=(4, 3))}
    oracle, graph = evaluator([("turned", ["w"], "t"), ("product", ["x", "t"], "y")], stored)
    noises = [Noise(seed=seed, rounding=True) for seed in range(3)]
    alone = [oracle.run(ROWS, ["y"], noise) for noise in noises]
    assert oracle._peaks.runs_at_once(run_key(ROWS, ["y"])) > 100_000, "rows and their products"
    passes.clear()
    graph.computed.clear()
    session = OracleSession(oracle, Environment(runtime="toy"))
    together = session.run_many([RunRequest(feeds=ROWS, fetch=["y"], noise=n) for n in noises])
    assert graph.computed.count("turned:0") == 1
    assert passes == [6]
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_allclose(one["y"], other["y"], rtol=1e-14)


def test_requests_that_share_no_numbers_are_computed_one_by_one(monkeypatch):
    oracle, passes = multiplied(monkeypatch)
    other = {"x": ROWS["x"] + 1}
    oracle.run(ROWS, ["y"])
    passes.clear()
    noise = Noise(seed=1, rounding=True)
    session = OracleSession(oracle, Environment(runtime="toy"))
    requests = [
        RunRequest(feeds=ROWS, fetch=["y"]),
        RunRequest(feeds=ROWS, fetch=["a"], noise=noise),
        RunRequest(feeds=other, fetch=["y"], noise=noise),
    ]
    found = session.run_many(requests)
    assert [list(each) for each in found] == [["y"], ["a"], ["y"]]
    assert set(passes) == {2}
    np.testing.assert_array_equal(found[2]["y"], oracle.run(other, ["y"], noise)["y"])


def test_a_program_whose_weights_are_kept_draws_one_at_a_time():
    oracle, _ = evaluator([("add", ["x", "w"], "y")], {"w": [0.1]})
    oracle.run(X, ["y"])
    assert oracle.draws_at_once(X, ["y"]) == 1
