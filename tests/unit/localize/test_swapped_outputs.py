"""Outputs of a node that its readers take for each other are named, and nothing else is."""

import pytest

from chains import graph, node
from faulty_graphs import matched
from isomorph.localize.fault_search import Search
from isomorph.localize.swapped_outputs import swapped_output_faults


def split(p, first="a", second="b", out="Mul", parts="Parts"):
    """Two halves of one tensor, each with a function of its own, joined."""
    nodes = [
        node(parts, ["x"], f"{p}a", more=[f"{p}b"]),
        node("Sin", [f"{p}{first}"], f"{p}s"),
        node("Cos", [f"{p}{second}"], f"{p}c"),
        node(out, [f"{p}s", f"{p}c"], f"{p}out"),
    ]
    return graph(nodes, outputs=[f"{p}out"])


def faults(reference, candidate):
    return swapped_output_faults(Search(matched(reference, candidate), [("lout", "rout")], {}))


def test_two_outputs_in_each_others_place_are_two_faults_of_their_node():
    found = faults(split("l"), split("r", "b", "a"))
    assert {(each.node, each.tensor, each.counterpart) for each in found} == {
        ("make_ra", "ra", "lb"),
        ("make_ra", "rb", "la"),
    }


@pytest.mark.parametrize(
    "candidate",
    [split("r"), split("r", out="Add"), split("r", "b", "b"), split("r", "b", "a", out="Add")],
    ids=["right", "another fault", "one of them twice", "another fault as well"],
)
def test_what_a_swap_does_not_explain_is_no_swap(candidate):
    assert faults(split("l"), candidate) == []


def test_outputs_without_a_counterpart_are_not_swapped():
    """The parts of another tensor are found nowhere in the reference."""
    other = split("r", "b", "a")
    moved = [node("Neg", ["x"], "rn"), node("Parts", ["rn"], "ra", more=["rb"]), *other.nodes[1:]]
    assert faults(split("l"), graph(moved, outputs=["rout"])) == []


def test_equal_outputs_cannot_be_swapped():
    assert faults(split("l", parts="Twice"), split("r", "b", "a", out="Add", parts="Twice")) == []
