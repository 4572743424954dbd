"""A node with several wrong outputs is named where all of them together restore the next."""

import numpy as np
import pytest

from chains import OPS, graph, node
from faulty_graphs import matched
from isomorph.core.limits import NODE_OUTPUTS, noted_limits
from isomorph.localize.fault_search import Search
from isomorph.localize.multi_output import narrow_to_node


@pytest.fixture(autouse=True)
def _functions(monkeypatch):
    monkeypatch.setitem(OPS, "Both", lambda array: (np.sin(array), np.cos(array)))
    monkeypatch.setitem(OPS, "Wrong", lambda array: (np.sin(array) + 1, np.cos(array) - array))
    monkeypatch.setitem(OPS, "Join", lambda one, two: one * two + one)


def joined(p, native, join="Join"):
    """One node of two outputs, and the next, which reads both."""
    nodes = [
        node("Both", ["x"], f"{p}a", more=[f"{p}b"], native_op=native),
        node(join, [f"{p}a", f"{p}b"], f"{p}out"),
    ]
    return graph(nodes, outputs=[f"{p}out"])


def located(candidate):
    search = Search(matched(joined("l", "Both"), candidate), [("lout", "rout")], {})
    fault = search.next_fault()
    return fault, narrow_to_node(search, fault)


def test_the_node_is_named_and_not_the_one_that_joins_its_outputs():
    before, after = located(joined("r", "Wrong"))
    assert before.node == "make_rout"
    assert after.node == "make_ra"
    assert (after.tensor, after.counterpart) == ("ra", "la")


@pytest.mark.parametrize("swapped", [False, True])
def test_of_many_outputs_only_those_at_the_same_places_are_paired(monkeypatch, swapped):
    count = NODE_OUTPUTS.most + 1
    factors = np.arange(1.0, count + 1)
    monkeypatch.setitem(OPS, "Many", lambda x: tuple(np.sin(each * x) for each in factors))
    order = [1, 0, *range(2, count)] if swapped else list(range(count))
    monkeypatch.setitem(
        OPS, "WrongMany", lambda x: tuple(np.sin(factors[n] * x) + 1 + n for n in order)
    )
    monkeypatch.setitem(
        OPS, "JoinMany", lambda *parts: sum(place * each for place, each in enumerate(parts, 1))
    )

    def many(p, native):
        names = [f"{p}{place}" for place in range(count)]
        first = node("Many", ["x"], names[0], more=names[1:], native_op=native)
        read = [names[place] for place in order] if p == "r" else names
        return graph([first, node("JoinMany", read, f"{p}out")], outputs=[f"{p}out"])

    search = Search(matched(many("l", "Many"), many("r", "WrongMany")), [("lout", "rout")], {})
    before = search.next_fault()
    with noted_limits() as hit:
        after = narrow_to_node(search, before)
    assert (after is before) == swapped
    assert (NODE_OUTPUTS in hit) == swapped


def test_where_the_joining_node_is_wrong_as_well_the_fault_stays_where_it_was():
    before, after = located(joined("r", "Wrong", join="Add"))
    assert after is before


def test_a_fault_of_a_single_node_stays_one():
    before, after = located(joined("r", "Both", join="Add"))
    assert before.nodes == ("make_rout",)
    assert after is before
