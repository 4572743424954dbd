"""Outputs without an order are paired by value, all of them at once and none of them dropped."""

from itertools import permutations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from isomorph.core.report import Binding
from isomorph.measure.output_order import _assigned, nearest


@given(
    rows=st.integers(1, 5),
    spare=st.integers(0, 2),
    seed=st.integers(0, 2**32 - 1),
    ties=st.booleans(),
)
def test_the_assignment_is_the_best_of_all(rows, spare, seed, ties):
    rng = np.random.default_rng(seed)
    costs = rng.random((rows, rows + spare))
    if ties:
        costs = np.round(costs, 1)
    chosen = _assigned(costs)
    assert len(set(chosen)) == rows
    every = permutations(range(rows + spare), rows)
    best = min(sum(costs[row, at] for row, at in enumerate(order)) for order in every)
    found = sum(costs[row, at] for row, at in enumerate(chosen))
    assert found <= best * (1 + 1e-12) + 1e-12


def test_what_does_not_fit_is_taken_last():
    costs = np.array([[np.inf, 1e30, np.inf], [1.0, np.inf, 2.0], [np.inf, np.inf, 5.0]])
    assert _assigned(costs) == [1, 0, 2]


def test_equally_near_outputs_stay_as_they_are():
    assert _assigned(np.zeros((3, 4))) == [0, 1, 2]
    assert _assigned(np.full((2, 2), np.inf)) == [0, 1]


def test_more_outputs_than_could_be_permuted_are_paired_and_bound_ones_stay():
    rng = np.random.default_rng(0)
    values = {f"r{n}": rng.normal(size=(2, 3)) for n in range(9)}
    moved = {f"c{(n * 2) % 9}": values[f"r{n}"] + 1e-9 for n in range(9)}
    bound = [Binding(reference="r0", candidate="c0", how="name")]
    bound += [Binding(reference=f"r{n}", candidate=f"c{n}", how="position") for n in range(1, 9)]
    found = nearest(bound, values, moved)
    assert found[0] == bound[0]
    assert {pair.reference: pair.candidate for pair in found} == {
        f"r{n}": f"c{(n * 2) % 9}" for n in range(9)
    }


def test_an_output_to_spare_is_taken_where_it_is_nearer():
    bound = [Binding(reference="a", candidate="p", how="position")]
    values = {"p": np.ones(3), "q": np.zeros(3) + 5}
    found = nearest(bound, {"a": np.full(3, 5.0)}, values, ["q"])
    assert [(pair.reference, pair.candidate) for pair in found] == [("a", "q")]


def test_sequences_are_compared_by_their_elements():
    bound = [Binding(reference=n, candidate=m, how="position") for n, m in ("ap", "bq")]
    left = {"a[0]": np.zeros(2), "a[1]": np.ones(2), "b[0]": np.ones(2)}
    right = {"p[0]": np.ones(2), "q[0]": np.zeros(2), "q[1]": np.ones(2)}
    assert [pair.candidate for pair in nearest(bound, left, right)] == ["q", "p"]
