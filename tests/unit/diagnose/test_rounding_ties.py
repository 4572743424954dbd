"""Two sides that round everything alike but halves are known by how each rounds them."""

from types import SimpleNamespace

import numpy as np
import pytest

from isomorph.core.model import Constant, Graph, Node
from isomorph.core.report import Fact
from isomorph.diagnose.rounding_ties import _WAYS, rounding_places, ties

VALUES = np.array([-3.5, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5, -5.0, 5.0, 0.3, 2.7])


def node(op, inputs, output):
    return Node(name=f"make_{output}", op=op, native_op=op, inputs=tuple(inputs), outputs=(output,))


def graph(*nodes, **numbers):
    constants = {
        name: Constant(
            name=name, dtype="float32", shape=(), digest="", value_digest="", values=(value,)
        )
        for name, value in numbers.items()
    }
    return Graph(name="g", inputs=(), outputs=(), nodes=nodes, tensors={}, constants=constants)


def context(made, wrong, right, nodes=None, values=VALUES, scale=None):
    return SimpleNamespace(
        candidate=made,
        nodes=made.nodes if nodes is None else nodes,
        wrong=wrong,
        right=right,
        value=lambda _, name: values if name == "x" else None,
        constant=lambda _, name: scale,
    )


@pytest.mark.parametrize("cand", _WAYS)
@pytest.mark.parametrize("ref", _WAYS)
def test_both_ways_are_named_where_they_differ(cand, ref):
    wrong, right = _WAYS[cand](VALUES), _WAYS[ref](VALUES)
    found = ties(context(graph(node("Round", ["x"], "y")), wrong, right))
    if cand == ref:
        assert found is None
    else:
        assert (found.evidence["ties"], found.evidence[Fact.REFERENCE_TIES]) == (cand, ref)
        assert found.evidence["halves"] == np.count_nonzero(wrong != right)


def test_a_quantizer_rounds_in_its_steps():
    made = graph(node("QuantizeLinear", ["x", "s"], "y"))
    step = np.array(0.25)
    wrong, right = (_WAYS[way](VALUES) * 0.25 for way in ("to even", "up"))
    found = ties(context(made, wrong, right, values=VALUES * 0.25, scale=step))
    assert found.evidence["ties"] == "to even"
    assert ties(context(made, wrong, right, values=VALUES * 0.25, scale=np.ones(3))) is None


def test_a_difference_elsewhere_is_none_of_rounding():
    right = np.rint(VALUES)
    wrong = _WAYS["up"](VALUES)
    wrong[10] += 1
    assert ties(context(graph(node("Round", ["x"], "y")), wrong, right)) is None


def test_without_halves_nothing_is_known():
    values = np.array([-5.0, 0.3, 1.2, 2.4, 5.0])
    wrong = np.rint(values)
    made = graph(node("Round", ["x"], "y"))
    assert ties(context(made, wrong + 0, wrong, values=values)) is None


def test_what_is_cut_off_at_the_ends_does_not_count():
    values = np.append(VALUES, [100.5, -100.5])
    wrong, right = (np.clip(_WAYS[way](values), -6, 6) for way in ("to even", "away from zero"))
    found = ties(context(graph(node("Round", ["x"], "y")), wrong, right, values=values))
    assert found.evidence[Fact.REFERENCE_TIES] == "away from zero"


@pytest.mark.parametrize(
    ("shift", "after", "way"), [("Add", "Floor", "up"), ("Sub", "Ceil", "down")]
)
def test_where_the_shifted_values_differ_first_they_are_rounded_as_the_next_node_does(
    shift, after, way
):
    moved, whole = node(shift, ["x", "h"], "m"), node(after, ["m"], "y")
    made = graph(moved, whole, h=0.5)
    values = VALUES + 0.5 if shift == "Add" else VALUES - 0.5
    found = ties(context(made, values, np.rint(VALUES), nodes=(moved,)))
    assert (found.evidence["ties"], found.evidence[Fact.REFERENCE_TIES]) == (way, "to even")


@pytest.mark.parametrize(
    ("before", "number", "after", "rounds"),
    [
        ("Add", 0.5, "Floor", True),
        ("Sub", -0.5, "Floor", True),
        ("Sub", 0.5, "Ceil", True),
        ("Add", -0.5, "Ceil", True),
        ("Add", 0.25, "Floor", False),
        ("Add", 0.5, "Ceil", False),
        ("Mul", 0.5, "Floor", False),
    ],
)
def test_a_half_that_is_added_before_a_floor_rounds(before, number, after, rounds):
    shift, whole = node(before, ["x", "h"], "m"), node(after, ["m"], "y")
    made = graph(shift, whole, h=number)
    expected = [("make_y", "x")] if rounds else []
    for nodes in (made.nodes, (shift,)):
        places = rounding_places(context(made, None, None, nodes=nodes))
        assert [(each.name, source) for each, source in places] == expected
