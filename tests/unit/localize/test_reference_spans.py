"""The parts of the other graph that may stand for one node, by the values at their ends."""

import numpy as np

from chains import OPS, graph, node
from faulty_graphs import chain, matched
from isomorph.localize.reference_spans import candidate_spans, paired, reference_spans


def ends(spans):
    return [
        ({(ref, cand) for ref, cand, _ in span.sources}, span.reference, span.candidate)
        for span in spans
    ]


def of(graph_, name):
    return next(each for each in graph_.nodes if each.name == name)


def test_the_same_node_of_an_equal_graph_stands_for_each():
    left, right = chain("l"), chain("r")
    known = paired(matched(left, right))
    expected = [({("lb", "rb"), ("la", "ra")}, "lc", "rc")]
    assert ends(reference_spans(of(right, "make_rc"), known)) == expected
    assert ends(candidate_spans(of(left, "make_lc"), known)) == expected


def test_several_nodes_may_stand_for_one():
    """-(-x) · x in three nodes is x · x in one."""
    left = graph(
        [
            node("Neg", ["x"], "n"), node("Neg", ["n"], "m"), node("Mul", ["m", "x"], "lout"),
        ],
        outputs=["lout"],
    )  # fmt: skip
    right = graph([node("Mul", ["x", "x"], "rout")], outputs=["rout"])
    spans = ends(reference_spans(right.nodes[0], paired(matched(left, right))))
    assert spans
    assert {(reference, candidate) for _, reference, candidate in spans} == {("lout", "rout")}
    assert ({("x", "x")}, "lout", "rout") in spans
    assert ({("m", "x")}, "lout", "rout") in spans


def test_a_node_with_a_wrong_result_or_wrong_inputs_has_none():
    left, right = chain("l"), chain("r", b="Add")
    known = paired(matched(left, right))
    assert reference_spans(of(right, "make_rb"), known) == []
    assert reference_spans(of(right, "make_rc"), known) == []
    assert reference_spans(of(right, "make_ra"), known)


def test_the_same_operator_comes_first_and_then_the_shortest_way():
    left = graph(
        [node("Identity", ["x"], "i"), node("Sin", ["i"], "s"), node("Identity", ["s"], "lout")],
        outputs=["lout"],
    )
    right = graph([node("Sin", ["x"], "rout")], outputs=["rout"])
    spans = ends(reference_spans(right.nodes[0], paired(matched(left, right))))
    assert spans[0][1] == "s"
    assert "lout" in {reference for _, reference, _ in spans}


def test_another_operator_with_the_same_values_comes_later(monkeypatch):
    monkeypatch.setitem(OPS, "Lookup", np.sin)
    left = graph(
        [node("Lookup", ["x"], "t"), node("Identity", ["x"], "i"), node("Sin", ["i"], "lout")],
        outputs=["lout"],
    )
    right = graph([node("Sin", ["x"], "rout")], outputs=["rout"])
    spans = ends(reference_spans(right.nodes[0], paired(matched(left, right))))
    found = [end for _, end, _ in spans]
    assert found[0] == "lout"
    assert "t" in found
