"""Edge values that are fed to a node and to its counterparts alone."""

import numpy as np
import pytest

from chains import OPS, graph, node
from faulty_graphs import matched
from isomorph.localize.probes import edge_values, probe
from isomorph.localize.reference_spans import paired, reference_spans

X = np.array([[0.5, -0.25], [2.0, 1.0]])


def test_every_kind_changes_the_numbers_and_keeps_shape_and_type():
    kinds = dict(edge_values({"x": X.astype(np.float32)}, seed=0))
    assert len(kinds) > 4
    for given in kinds.values():
        assert given["x"].shape == X.shape
        assert given["x"].dtype == np.float32
        assert not np.array_equal(given["x"], X)
    assert np.array_equal(kinds["negated"]["x"], -X)
    assert not kinds["zeros"]["x"].any()


def test_integers_stay_and_truths_are_negated():
    values = {"i": np.array([1, 2]), "b": np.array([True, False]), "x": X}
    kinds = dict(edge_values(values, seed=0))
    assert all(np.array_equal(given["i"], values["i"]) for given in kinds.values())
    assert kinds["negated"]["b"].tolist() == [False, True]
    assert kinds["zeros"]["b"].tolist() == [True, False]


def test_integers_alone_have_no_edge_values():
    assert list(edge_values({"i": np.array([1, 2])}, seed=0)) == []


def test_values_reach_beyond_the_constants_of_a_node():
    usual = max(float(np.abs(each["x"]).max()) for _, each in edge_values({"x": X}, 0))
    assert usual == 1000.0
    assert max(float(np.abs(each["x"]).max()) for _, each in edge_values({"x": X}, 0, [7.0])) == 1e3
    wide = max(float(np.abs(each["x"]).max()) for _, each in edge_values({"x": X}, 0, [-4096.0]))
    assert wide == 8192.0


def test_halves_have_ties():
    halves = next(given for kind, given in edge_values({"x": X}, 0) if "halves" in kind)
    assert np.array_equal(halves["x"] % 1, np.full(X.shape, 0.5))


@pytest.fixture
def limited(monkeypatch):
    """Two functions that agree up to 20, which the usual input does not reach."""
    monkeypatch.setitem(OPS, "Low", lambda array: np.minimum(3 * array, 20.0))
    monkeypatch.setitem(OPS, "High", lambda array: np.minimum(3 * array, 200.0))


def probed(left, right, numbers=()):
    reference = graph([node(op, ["x"], f"l{op}") for op in left], outputs=[f"l{left[0]}"])
    candidate = graph([node(right, ["x"], "r")], outputs=["r"])
    matcher = matched(reference, candidate)
    spans = reference_spans(candidate.nodes[0], paired(matcher))
    assert spans
    return probe(matcher, spans, 0, numbers)


def test_a_node_that_differs_beyond_the_given_values_is_found(limited):
    found = probed(["Low"], "High")
    assert found.span.candidate == "r"
    assert found.reference.max() == 20.0
    assert found.candidate.max() > 20.0


def test_equal_nodes_differ_on_no_probe(limited):
    assert probed(["Low"], "Low") is None


def test_one_counterpart_that_agrees_is_enough(limited):
    assert probed(["Low", "High"], "High") is None
    assert probed(["High", "Low"], "High") is None
