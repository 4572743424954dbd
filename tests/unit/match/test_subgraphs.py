import numpy as np

from isomorph.core.digest import constant_of
from isomorph.core.model import Graph, Node, TensorSpec
from isomorph.match.structural_match import match_by_structure
from isomorph.match.subgraphs import SubgraphAlignment
from isomorph.match.topology import Topology


def spec(name):
    return TensorSpec(name=name, dtype="float32", shape=(2,))


def node(op, inputs, output, bodies=None):
    return Node(name=f"make_{output}", op=op, native_op=op, inputs=tuple(inputs),
                outputs=(output,), bodies=bodies or {})  # fmt: skip


def graph(nodes, inputs, outputs, stored=None):
    return Graph(
        name="g", inputs=tuple(map(spec, inputs)), outputs=tuple(map(spec, outputs)),
        nodes=tuple(nodes), tensors={},
        constants={name: constant_of(name, value) for name, value in (stored or {}).items()},
    )  # fmt: skip


def loop(prefix, *, last="Sin", table=1.0):
    """x → Loop whose body adds a constant and the outer x, and turns it."""
    p = prefix
    body = graph(
        [node("Add", [f"{p}state", f"{p}k"], f"{p}sum"),
         node("Add", [f"{p}sum", f"{p}x"], f"{p}more"),
         node(last, [f"{p}more"], f"{p}next"), node("Identity", [f"{p}cond"], f"{p}go")],
        [f"{p}i", f"{p}cond", f"{p}state"], [f"{p}go", f"{p}next"],
        {f"{p}k": np.full(20, table, np.float32)},
    )  # fmt: skip
    return graph(
        [node("Neg", [f"{p}x"], f"{p}a"),
         node("Loop", [f"{p}m", f"{p}c", f"{p}a"], f"{p}out", {"body": body})],
        [f"{p}x"], [f"{p}out"],
    )  # fmt: skip


def inside(left, right):
    known = {"rx": "lx", "ra": "la", "rout": "lout"}
    return SubgraphAlignment(Topology(left), Topology(right), known)


def short(pairs):
    return {pair.candidate.rpartition("/")[2]: pair.reference[0].rpartition("/")[2]
            for pair in pairs}  # fmt: skip


def test_the_tensors_of_a_body_are_paired_by_what_they_are_computed_of():
    found = inside(loop("l"), loop("r"))
    tensors = [pair for pair in found.pairs if pair.kind == "body"]
    assert short(tensors) == {
        "ri": "li", "rcond": "lcond", "rstate": "lstate", "rsum": "lsum", "rmore": "lmore",
        "rnext": "lnext", "rgo": "lgo",
    }  # fmt: skip
    assert {pair.transform for pair in tensors} == {"values not seen"}
    assert all("value" not in pair.evidence for pair in tensors)
    assert tensors[0].candidate.startswith("make_rout/body/")
    assert found.unaligned == ([], [])


def test_the_constants_of_a_body_are_paired_by_their_values():
    (pair,) = (pair for pair in inside(loop("l"), loop("r")).pairs if pair.kind == "constant")
    assert (pair.reference, pair.candidate) == (("make_lout/body/lk",), "make_rout/body/rk")
    found = inside(loop("l"), loop("r", table=2.0))
    assert not [pair for pair in found.pairs if pair.kind == "constant"]
    assert [each.name for each in found.unaligned[1]] == ["make_rout/body/rk"]


def test_another_operator_at_the_end_leaves_the_way_to_it():
    found = inside(loop("l"), loop("r", last="Cos"))
    names = short(pair for pair in found.pairs if pair.kind == "body")
    assert names["rmore"] == "lmore"
    assert names["rnext"] == "lnext", "both are the state that goes out of the loop"


def test_nodes_without_a_partner_are_not_opened():
    left, right = loop("l"), loop("r")
    assert not SubgraphAlignment(Topology(left), Topology(right), {"rx": "lx"}).pairs


def test_bodies_that_match_by_structure_alone_are_left_alone():
    twice = graph([node("Sin", ["x"], "a"), node("Sin", ["x"], "b")], ["x"], ["a", "b"])
    assert match_by_structure(twice, twice, {"x": "x"}, {}) == {}
    assert match_by_structure(twice, twice, {"x": "x"}, {"b": "a"}) == {"b": "a"}


def test_the_order_of_operands_matters_only_where_it_does():
    def made(op, inputs):
        return graph([node("Sin", ["x"], "s"), node(op, inputs, "y")], ["x"], ["y"])

    known = {"x": "x"}
    for op, expected in (("Add", {"s": "s", "y": "y"}), ("Sub", {"s": "s"})):
        assert match_by_structure(made(op, ["x", "s"]), made(op, ["s", "x"]), known, {}) == expected
