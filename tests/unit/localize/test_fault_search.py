"""The search for the first fault, on graphs whose fault is known."""

from dataclasses import replace

import numpy as np
import pytest

from chains import graph, node
from faulty_graphs import OUTPUTS, chain, matched
from isomorph.core.limits import SUBSTITUTIONS, noted_limits
from isomorph.localize import substitution_order
from isomorph.localize.fault_search import Search


@pytest.mark.parametrize(
    ("place", "op"), [("a", "Cos"), ("b", "Add"), ("c", "Mul"), ("d", "Cos"), ("out", "Mul")]
)
def test_one_wrong_node_of_a_chain_is_the_first_fault(place, op):
    search = Search(matched(chain("l"), chain("r", **{place: op})), OUTPUTS, {})
    fault = search.next_fault()
    assert (fault.node, fault.tensor, fault.counterpart) == (
        f"make_r{place}", f"r{place}", f"l{place}",
    )  # fmt: skip
    assert fault.nodes == (f"make_r{place}",)
    assert fault.reference_nodes == (f"make_l{place}",)
    np.testing.assert_array_equal(fault.value, search.reference.values[f"l{place}"])
    assert fault.local_error > 0.1


def test_an_equal_graph_has_no_wrong_output_and_no_fault():
    search = Search(matched(chain("l"), chain("r")), OUTPUTS, {})
    assert search.wrong_outputs() == []
    assert search.unmatched() == []
    assert search.next_fault() is None
    assert search.next_fault(everywhere=True) is None


def test_the_wrong_tensors_begin_at_the_first_wrong_node():
    search = Search(matched(chain("l"), chain("r", b="Add")), OUTPUTS, {})
    assert search.wrong_outputs() == OUTPUTS
    assert search.unmatched() == ["rb", "rc", "rd", "rout"]
    assert [each.name for each in search.entries(["rout"])] == ["make_rb"]


def test_with_the_first_fault_corrected_the_search_finds_the_second():
    matcher = matched(chain("l"), chain("r", b="Add", d="Cos"))
    first = Search(matcher, OUTPUTS, {}).next_fault()
    assert first.node == "make_rb"
    second = Search(matcher, OUTPUTS, {first.tensor: first.value})
    assert second.wrong_outputs() == OUTPUTS
    assert second.next_fault().node == "make_rd"


def test_of_a_fork_only_the_wrong_branch_is_a_fault():
    def fork(p, op):
        nodes = [
            node("Sin", ["x"], f"{p}a"),
            node("Mul", [f"{p}a", "x"], f"{p}left"),
            node(op, [f"{p}a"], f"{p}right"),
            node("Add", [f"{p}left", f"{p}right"], f"{p}out"),
        ]
        return graph(nodes, outputs=[f"{p}out"])

    search = Search(matched(fork("l", "Cos"), fork("r", "Neg")), OUTPUTS, {})
    fault = search.next_fault()
    assert (fault.node, fault.counterpart) == ("make_rright", "lright")
    assert "rleft" in search.right


def test_a_node_that_changes_the_shape_is_the_fault():
    def reduced(p, sums):
        nodes = [
            node("Sin", ["x"], f"{p}a"),
            node("ReduceSum", [f"{p}a"], f"{p}sum", native_op=sums),
            node("Mul", [f"{p}sum", "x"], f"{p}b"),
            node("Sin", [f"{p}b"], f"{p}out"),
        ]
        return graph(nodes, outputs=[f"{p}out"])

    matcher = matched(reduced("l", "SumOfRows"), reduced("r", "SumOfColumns"))
    fault = Search(matcher, OUTPUTS, {}).next_fault()
    assert (fault.node, fault.counterpart) == ("make_rsum", "lsum")
    assert (fault.shape, fault.value.shape) == ((1, 6), (4, 1))


def test_tensors_without_a_counterpart_are_no_fault_where_the_outputs_agree():
    right = graph(
        [
            node("Sin", ["x"], "ra"),
            node("Mul", ["ra", "x"], "rb"),
            node("Add", ["rb", "ra"], "rc"),
            node("Neg", ["rc"], "extra"),
            node("Neg", ["extra"], "again"),
            node("Sin", ["again"], "rd"),
            node("Add", ["rd", "x"], "rout"),
        ],
        outputs=["rout"],
    )
    search = Search(matched(chain("l"), right), OUTPUTS, {})
    assert search.unmatched() == ["extra"]
    assert search.next_fault() is None


def test_an_inserted_operator_is_the_fault():
    right = graph(
        [
            node("Sin", ["x"], "ra"),
            node("Cos", ["ra"], "extra"),
            node("Mul", ["extra", "x"], "rb"),
            node("Add", ["rb", "ra"], "rc"),
            node("Sin", ["rc"], "rd"),
            node("Add", ["rd", "x"], "rout"),
        ],
        outputs=["rout"],
    )
    fault = Search(matched(chain("l"), right), OUTPUTS, {}).next_fault()
    assert (fault.node, fault.counterpart) == ("make_extra", "la")


def test_without_any_substitution_left_the_limit_is_noted(monkeypatch):
    monkeypatch.setattr(substitution_order, "SUBSTITUTIONS", replace(SUBSTITUTIONS, most=0))
    search = Search(matched(chain("l"), chain("r", b="Add")), OUTPUTS, {})
    with noted_limits() as hit:
        assert search.next_fault() is None
    assert [each.of for each in hit] == [SUBSTITUTIONS.of]
