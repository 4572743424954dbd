"""The smallest parts around a fault, with right inputs for both."""

import numpy as np
import pytest

from chains import graph, node
from faulty_graphs import OUTPUTS, X, captured, chain, matched
from isomorph.localize.fault_search import Search
from isomorph.localize.fault_subgraph import run_subgraph, smallest_subgraph


def located(reference, candidate, given=None):
    matcher = matched(reference, candidate)
    return Search(matcher, OUTPUTS, given or {}).next_fault(), matcher


@pytest.mark.parametrize(
    ("place", "op", "inputs"),
    [("a", "Cos", {"x"}), ("b", "Add", {"a", "x"}), ("c", "Mul", {"a", "b"}), ("d", "Cos", {"c"})],
)
def test_the_part_is_the_node_with_the_tensors_that_it_reads(place, op, inputs):
    fault, matcher = located(chain("l"), chain("r", **{place: op}))
    found = smallest_subgraph(fault, matcher, {})
    names = {name if name == "x" else f"r{name}" for name in inputs}
    assert set(found.candidate.feeds) == names
    assert found.candidate.fetch == f"r{place}"
    assert found.reference.fetch == f"l{place}"
    assert set(found.bound.values()) == names
    assert set(found.reference.feeds) == set(found.bound)


def test_both_parts_are_fed_with_the_reference_in_the_declared_type():
    fault, matcher = located(chain("l"), chain("r", c="Mul"))
    found = smallest_subgraph(fault, matcher, {})
    for ref, cand in found.bound.items():
        expected = matcher.reference.values[ref].astype(np.float32)
        assert found.reference.feeds[ref].dtype == np.float32
        assert np.array_equal(found.reference.feeds[ref], expected)
        assert np.array_equal(found.candidate.feeds[cand], expected)


def test_an_input_in_another_arrangement_is_fed_in_the_candidates():
    left = graph(
        [node("Sin", ["x"], "la"), node("Transpose", ["la"], "lt"), node("Sin", ["lt"], "lout")],
        outputs=["lout"],
    )
    right = graph(
        [node("Transpose", ["x"], "rt"), node("Sin", ["rt"], "ra"), node("Cos", ["ra"], "rout")],
        outputs=["rout"],
    )
    fault, matcher = located(left, right)
    found = smallest_subgraph(fault, matcher, {})
    assert found.candidate.feeds["ra"].shape == X.T.shape
    assert np.allclose(found.candidate.feeds["ra"], np.sin(X.T), atol=1e-6)


def test_behind_an_earlier_fault_the_inputs_are_those_of_the_corrected_run():
    reference, candidate = chain("l"), chain("r", b="Add", d="Cos")
    first, matcher = located(reference, candidate)
    earlier = {first.tensor: first.value}
    second = Search(matcher, OUTPUTS, earlier).next_fault()
    assert second.node == "make_rd"
    assert smallest_subgraph(second, matcher, {}) is None
    found = smallest_subgraph(second, matcher, earlier)
    assert found.bound == {"lc": "rc"}


def test_the_faulty_nodes_of_a_run_have_the_values_of_that_run():
    capture = captured(chain("r"), noise=False)
    found = run_subgraph(capture, ["make_rb", "make_rc"], "rc")
    assert set(found.feeds) == {"ra", "x"}
    assert np.array_equal(found.feeds["ra"], np.sin(X).astype(np.float32))
    assert found.fetch == "rc"
    assert run_subgraph(capture, ["nothing"], "rc") is None
