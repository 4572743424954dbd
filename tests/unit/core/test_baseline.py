"""A baseline lets pass what is unchanged or gone, and nothing else."""

import pytest

from isomorph.core.baseline import Accepted, Baseline, BaselineState, BaselineStatus

ENTRY = {
    "pair": "p", "max_abs": None, "nonfinite": 0, "causes": (), "nodes": (), "why": "w",
    "who": "me", "when": "2026-01-01",
}  # fmt: skip


def status(state):
    return BaselineStatus(output="y", state=state, message="")


@pytest.mark.parametrize("state", BaselineState)
def test_one_divergence_that_does_not_pass_is_enough(state):
    passes = state in {"unchanged", "fixed"}
    assert status(state).accepts is passes
    assert Baseline(file="b", statuses=(status("unchanged"), status(state))).accepts is passes


def test_each_entry_is_named_by_what_it_is_about():
    assert Accepted(output="y", **ENTRY).what == "output 'y'"
    assert Accepted(output="", constant="w", **ENTRY).what == "constant 'w'"
    assert Accepted(output="y", node="n", **ENTRY).what == "node 'n'"
    assert BaselineStatus(output="y", state="new", message="", node="n").what == "node 'n'"


def test_an_entry_for_an_output_is_not_one_by_itself():
    assert not Accepted(output="y", **ENTRY).by_itself
    assert Accepted(output="y", node="n", **ENTRY).by_itself
    assert Accepted(output="", constant="w", **ENTRY).by_itself
