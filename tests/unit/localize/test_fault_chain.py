"""All faults of a pair, on graphs whose faults are known."""

from dataclasses import replace

import numpy as np
import pytest

from chains import graph, node
from faulty_graphs import OUTPUTS, chain, matched
from isomorph.core.limits import WRONG_NODES, noted_limits
from isomorph.localize import fault_chain
from isomorph.localize.fault_chain import beyond_noise, find_faults


def nodes(found):
    return [each.node for each in found.faults]


def test_equal_graphs_have_no_faults():
    found = find_faults(matched(chain("l"), chain("r")), OUTPUTS)
    assert (found.faults, found.explained, found.left_over) == ((), True, ())


@pytest.mark.parametrize(("place", "op"), [("a", "Cos"), ("c", "Mul"), ("out", "Mul")])
def test_one_fault_explains_all_of_the_error(place, op):
    found = find_faults(matched(chain("l"), chain("r", **{place: op})), OUTPUTS)
    assert nodes(found) == [f"make_r{place}"]
    assert found.explained
    assert found.faults[0].proven
    assert found.faults[0].share == pytest.approx(1.0, abs=1e-3)


def test_two_faults_are_both_found_in_graph_order():
    found = find_faults(matched(chain("l"), chain("r", b="Add", d="Cos")), OUTPUTS)
    assert nodes(found) == ["make_rb", "make_rd"]
    assert found.explained
    assert all(each.proven for each in found.faults)
    # With the first corrected the second is still there; the output depends on the second alone.
    assert found.faults[0].share < 0.9
    assert found.faults[1].share == pytest.approx(1.0, abs=1e-3)


def test_faults_of_two_outputs_are_found_apart():
    def two(p, left, right):
        made = [
            node("Sin", ["x"], f"{p}a"),
            node(left, [f"{p}a", "x"], f"{p}b"),
            node(right, [f"{p}a"], f"{p}c"),
            node("Sin", [f"{p}b"], f"{p}one"),
            node("Add", [f"{p}c", "x"], f"{p}two"),
        ]
        return graph(made, outputs=[f"{p}one", f"{p}two"])

    outputs = [("lone", "rone"), ("ltwo", "rtwo")]
    found = find_faults(matched(two("l", "Mul", "Cos"), two("r", "Add", "Neg")), outputs)
    assert sorted(nodes(found)) == ["make_rb", "make_rc"]
    assert found.explained


def test_an_output_that_only_agrees_in_name_stays_unexplained(monkeypatch):
    monkeypatch.setattr(fault_chain, "WRONG_NODES", replace(WRONG_NODES, most=1))
    with noted_limits() as hit:
        found = find_faults(matched(chain("l"), chain("r", b="Add", d="Cos")), OUTPUTS)
    assert nodes(found) == ["make_rb"]
    assert not found.explained
    assert found.left_over == ("rout",)
    assert not found.faults[0].proven
    assert WRONG_NODES.of in {each.of for each in hit}


def test_a_fault_is_beyond_the_noise_and_its_right_value_is_not():
    matcher = matched(chain("l"), chain("r", b="Add"))
    fault = find_faults(matcher, OUTPUTS).faults[0]
    assert beyond_noise(matcher, fault, matcher.candidate.values["rb"])
    assert not beyond_noise(matcher, fault, fault.value)
    assert beyond_noise(matcher, fault, np.zeros((3, 3)))


def test_a_correction_that_a_later_node_rejects_explains_nothing(monkeypatch):
    matcher = matched(chain("l"), chain("r", b="Add"))
    fault = find_faults(matcher, OUTPUTS).faults[0]
    assert fault.share > 0.9
    # Tensors after a node that rejects the corrected value are missing.
    monkeypatch.setattr(type(matcher.candidate), "run", lambda *_: {})
    again = fault_chain._proven(matcher, OUTPUTS, fault, 1.0, explained=True)
    assert again.share == 0.0


def test_outputs_that_nothing_computes_any_more_are_left_over(monkeypatch):
    matcher = matched(chain("l"), chain("r", b="Add"))
    with_given = type(matcher.candidate).with_given

    def without_outputs(capture, given):
        values = with_given(capture, given)
        return {name: values[name] for name in ("ra", *given)} if given else values

    monkeypatch.setattr(type(matcher.candidate), "with_given", without_outputs)
    found = find_faults(matcher, OUTPUTS)
    assert not found.explained
    assert found.left_over == ("rout",)


def test_a_rewrite_without_a_fault_has_none():
    right = graph(
        [
            node("Sin", ["x"], "ra"),
            node("Mul", ["x", "ra"], "rb"),
            node("Add", ["ra", "rb"], "rc"),
            node("Neg", ["rc"], "minus"),
            node("Sin", ["minus"], "odd"),
            node("Neg", ["odd"], "rd"),
            node("Add", ["rd", "x"], "rout"),
        ],
        outputs=["rout"],
    )
    found = find_faults(matched(chain("l"), right), OUTPUTS)
    assert (found.faults, found.explained) == ((), True)


def test_a_fault_after_a_rewrite_is_still_found():
    right = graph(
        [
            node("Sin", ["x"], "ra"),
            node("Neg", ["x"], "minus"),
            node("Mul", ["ra", "minus"], "nb"),
            node("Neg", ["nb"], "rb"),
            node("Add", ["rb", "ra"], "rc"),
            node("Cos", ["rc"], "rd"),
            node("Add", ["rd", "x"], "rout"),
        ],
        outputs=["rout"],
    )
    found = find_faults(matched(chain("l"), right), OUTPUTS)
    assert nodes(found) == ["make_rd"]
    assert found.explained


def test_a_known_fault_is_corrected_before_others_are_searched_for():
    """At another input a wrong tensor may equal one by accident, and a later node is named."""
    matcher = matched(chain("l"), chain("r", b="Add"))
    known = find_faults(matcher, OUTPUTS).faults
    found = find_faults(matcher, OUTPUTS, known)
    assert nodes(found) == ["make_rb"]
    assert found.explained


def test_a_known_fault_of_another_graph_is_passed_over():
    matcher = matched(chain("l"), chain("r", b="Add"))
    known = [replace(each, tensor="elsewhere") for each in find_faults(matcher, OUTPUTS).faults]
    assert nodes(find_faults(matcher, OUTPUTS, known)) == ["make_rb"]


def test_a_known_fault_counts_though_the_search_would_name_another_node(monkeypatch):
    matcher = matched(chain("l"), chain("r", b="Add"))
    known = find_faults(matcher, OUTPUTS).faults
    monkeypatch.setattr(fault_chain.Search, "next_fault", lambda *_, **__: None)
    assert nodes(find_faults(matcher, OUTPUTS, known)) == ["make_rb"]
