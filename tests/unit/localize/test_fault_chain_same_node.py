"""Two places that one node leads to are put down to that node."""

from __future__ import annotations

import numpy as np

from isomorph.localize.fault import Fault
from isomorph.localize.fault_chain import _by_the_same_node
from isomorph.match.axis_layout import Rearrangement


def fault(node, *nodes):
    return Fault(
        node=node, nodes=nodes, tensor=f"{node}_out", counterpart="c", reference_nodes=(),
        moved=Rearrangement(permutation=(0,), shape=(1,)), value=np.zeros(1), local_error=1.0,
    )  # fmt: skip


def named(*faults):
    return [each.node for each in _by_the_same_node(faults)]


def test_a_wide_place_takes_the_node_of_a_narrow_one_inside_it():
    states = fault("concat", "gru", "upper", "concat")
    sequence = fault("gru", "gru", "reshape")
    assert named(states, sequence) == ["gru", "gru"]


def test_places_apart_keep_their_nodes():
    assert named(fault("a", "a"), fault("b", "x", "b")) == ["a", "b"]
