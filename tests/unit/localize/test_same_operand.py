"""A constant is known by its reader where both nodes read the same data on every input."""

from types import SimpleNamespace

import numpy as np
import pytest

from chains import OPS, Session, graph, node
from isomorph.localize.same_operand import applied_to_same_data, reads_same_data
from isomorph.match.stored_weights import WeightReader
from isomorph.match.topology import Topology

SEEN = [np.linspace(-1, 1, 24).reshape(4, 6), np.linspace(-3, 3, 24).reshape(4, 6)]


@pytest.fixture(autouse=True)
def _functions(monkeypatch):
    monkeypatch.setitem(OPS, "Min", np.minimum)
    monkeypatch.setitem(OPS, "Sub", np.subtract)


def side(p, constant, op="Min", before="Neg", behind=("Cos",), slots="dc"):
    """One node that reads the same data as the other side's, and a constant of its own."""
    inputs = {"dc": [f"{p}d", f"{p}c"], "cd": [f"{p}c", f"{p}d"]}[slots]
    last = [node(each, [f"{p}y"], f"{p}z{place}") for place, each in enumerate(behind)]
    made = graph(
        [node(before, ["x"], f"{p}d"), node(op, inputs, f"{p}y"), *last], outputs=[f"{p}y"]
    )
    session = Session(made, {f"{p}c": np.asarray(constant)})
    models = [SimpleNamespace(oracle=lambda: session, feeds={"x": x}, seed=0) for x in SEEN]
    reader = WeightReader(node=made.nodes[1], slot=slots.index("c"))
    weight = SimpleNamespace(name=f"{p}c", readers=(reader,))
    stored = SimpleNamespace(stored={f"{p}c": weight}, scalars={}, topology=Topology(made))
    return models, weight, stored


def asked(ref, cand, replaced=None):
    (left, _, ref_side), (right, weight, cand_side) = ref, cand
    difference = SimpleNamespace(reference=("lc",), weight=weight)
    sides, pairs = (ref_side, cand_side), list(zip(left, right, strict=True))
    if replaced is None:
        return applied_to_same_data(difference, sides, pairs)
    return reads_same_data(difference, sides, pairs, np.asarray(replaced))


def test_a_limit_between_the_seen_values_of_an_element_may_give_another_result():
    """Element 0 was seen at 1 and at 3: limits of 3.5 and 3.25 never act, those of 2 and 1.5 do."""
    assert not asked(side("l", 3.25), side("r", 3.5), replaced=3.25)
    assert not asked(side("l", 1.5), side("r", 2.0), replaced=1.5)


def test_a_threshold_between_the_samples_is_tried_between_them(monkeypatch):
    monkeypatch.setitem(OPS, "Min", lambda data, limit: (data > limit).astype(np.float64))
    # No element was seen between 1.7 and 1.75, and elements were on both sides of them.
    assert asked(side("l", 1.7), side("r", 1.75), replaced=1.7)
    assert not asked(side("l", 5.0), side("r", 6.0), replaced=5.0)


def test_the_same_operator_on_the_same_data_is_applied_alike():
    assert asked(side("l", 1.0), side("r", 2.0))


@pytest.mark.parametrize(
    "changes",
    [
        {"op": "Sub"},
        {"before": "Sin"},
        {"behind": ("Cos", "Neg")},
        {"behind": ("Sin",)},
    ],
)
def test_another_operator_other_data_or_another_step_behind_it_is_not(changes):
    assert not asked(side("l", 1.0), side("r", 2.0, **changes))


def test_operands_are_exchanged_only_where_their_order_does_not_matter():
    assert asked(side("l", 1.0), side("r", 2.0, slots="cd"))
    pair = side("l", 1.0, op="Sub"), side("r", 2.0, op="Sub", slots="cd")
    assert not asked(*pair)


def test_a_constant_that_several_nodes_read_is_not_known_by_one():
    cand = side("r", 2.0)
    cand[1].readers *= 2
    assert not asked(side("l", 1.0), cand)


def test_a_threshold_of_one_number_is_tried_between_the_samples(monkeypatch):
    monkeypatch.setitem(globals(), "SEEN", [np.asarray(-1.25), np.asarray(-2.5)])
    monkeypatch.setitem(OPS, "Min", lambda data, limit: np.asarray(data > limit, np.float64))
    assert asked(side("l", 1.7), side("r", 1.75), replaced=1.7)
    assert not asked(side("l", 5.0), side("r", 6.0), replaced=5.0)
