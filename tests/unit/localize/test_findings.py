"""One finding for each faulty node, with all its faults and the experiment behind each."""

from dataclasses import replace

import numpy as np
import pytest

from chains import graph, node
from isomorph.core.model import Source
from isomorph.core.report import Fact, FindingStatus
from isomorph.core.stated_numbers import LAYER_NODES
from isomorph.localize.fault import Fault, FaultChain
from isomorph.localize.findings import findings, suspect_large_group
from isomorph.match.axis_layout import Rearrangement

LINE = Source(file="net.py", line=3)
REFERENCE = graph(
    [node("Sin", ["x"], "la"), node("Cos", ["la"], "lb", source=LINE)], outputs=["lb"]
)
CANDIDATE = graph(
    [node("Sin", ["x"], "ra"), node("Neg", ["ra"], "rb"), node("Exp", ["rb"], "rc")], outputs=["rc"]
)


def fault(name="rb", counterpart="lb", **more):
    about = {
        "node": f"make_{name}", "nodes": (f"make_{name}",), "tensor": name,
        "counterpart": counterpart, "reference_nodes": (f"make_{counterpart}",),
        "moved": Rearrangement(permutation=(0, 1), shape=(4, 6)), "value": np.ones((4, 6)),
        "local_error": 0.25, "shape": (4, 6), "proven": True,
    }  # fmt: skip
    return Fault(**about | more)


def made(*faults):
    chain = FaultChain(faults=faults, explained=True)
    return list(findings(chain, REFERENCE, CANDIDATE))


def test_a_fault_is_a_finding_about_its_node():
    (found,) = made(fault(share=0.75, where={"words": "at the border"}))
    assert (found.code, found.node, found.status) == (
        "GUILTY_NODE", "make_rb", FindingStatus.CONFIRMED,
    )  # fmt: skip
    assert (found.local_error, found.share, found.inherited_error) == (0.25, 0.75, 0.0)
    assert found.reference_nodes == ("make_lb",)
    assert found.source == LINE
    assert found.evidence == {"where": {"words": "at the border"}}
    assert found.tensors == ("rb",)


def test_faults_of_one_node_are_one_finding_and_keep_their_places_in_the_chain():
    first, second, third = fault("rb"), fault("rc"), fault("rb", "la", proven=False, share=0.5)
    found = made(first, second, third)
    assert [each.node for each in found] == ["make_rb", "make_rc"]
    assert [(each.place, each.count) for each in found[0].faults] == [(0, 3), (2, 3)]
    assert [(each.place, each.count) for each in found[1].faults] == [(1, 3)]
    assert found[0].reference_nodes == ("make_lb", "make_la")
    assert [each.agrees for each in found[0].experiments] == [True, False]


def test_one_fault_that_is_not_proven_leaves_the_node_suspected():
    (found,) = made(fault(), fault(proven=False))
    assert found.status is FindingStatus.SUSPECTED


def test_a_record_holds_all_that_is_needed_to_compute_the_right_value_again():
    moved = Rearrangement(permutation=(1, 0), shape=(6, 4))
    (found,) = made(fault(moved=moved, permuted=True))
    (record,) = found.faults
    assert (record.tensor, record.counterpart) == ("rb", "lb")
    assert (record.permutation, record.shape, record.permuted) == ((1, 0), (6, 4), True)


def test_another_shape_has_no_distance():
    (found,) = made(fault(shape=(4, 3)))
    assert found.local_error is None
    assert "4×3" in found.summary
    assert "4×6" in found.summary


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"permuted": True}, "in another order"),
        ({"value": np.zeros((4, 6))}, "where the reference's is zero"),
        ({"nodes": ("make_ra", "make_rb")}, "with 1 node before it"),
    ],
)
def test_the_summary_states_what_is_special(changes, words):
    (found,) = made(fault(**changes))
    assert words in found.summary


def test_a_group_that_is_larger_than_a_layer_is_only_suspected():
    (found,) = made(fault())
    large = replace(found, nodes=tuple(map(str, range(LAYER_NODES + 1))), cause="weight", fix="f")
    assert suspect_large_group(replace(large, nodes=large.nodes[1:])).cause == "weight"
    lowered = suspect_large_group(large)
    assert (lowered.status, lowered.cause, lowered.fix) == (FindingStatus.SUSPECTED, None, None)
    known = replace(large, evidence={Fact.MEMBER: "make_ra"})
    assert suspect_large_group(known) is known
