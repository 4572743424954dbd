"""Rows of a profile with the bodies in their places, and the same as columns again."""

from dataclasses import replace

import pytest

from isomorph.core.profile import GraphProfile
from isomorph.localize.flat_profile import profile, renamed, rows, with_bodies
from isomorph.localize.subgraph_nodes import SubgraphNames


def side(role, *names, sources=None, **columns):
    count = len(names)
    return GraphProfile(
        role=role,
        nodes=names,
        ops=tuple(f"op {name}" for name in names),
        tensors=tuple(f"t {name}" for name in names),
        sources=sources or ((), *((place,) for place in range(count - 1))),
        execution=tuple(float(place) for place in range(count)),
        budget=(1.0,) * count,
        modules=tuple(f"layers.{place}" for place in range(count)),
        **columns,
    )


@pytest.fixture
def pair():
    ref = side(
        "reference", "a", "b", "c",
        counterpart=(0, None, 1), translation=(0.1, None, 0.3), local=(0.0, None, 0.3),
        rounds=(None,) * 3,
    )  # fmt: skip
    cand = side(
        "candidate", "p", "q",
        counterpart=(0, 2), translation=(0.1, 0.3), local=(0.0, 0.3), rounds=(None,) * 2,
        run_budget=(0.2, None),
    )  # fmt: skip
    return ref, cand


def test_columns_become_rows_and_columns_again(pair):
    ref, cand = pair
    own, others = rows(ref, cand), rows(cand, ref)
    assert [row.counterpart for row in own] == ["p", None, "q"]
    assert [row.sources for row in own] == [(), ("a",), ("b",)]
    assert profile("reference", own, others) == ref
    assert profile("candidate", others, own) == cand


def test_a_node_of_a_body_without_a_module_is_in_that_of_the_node_that_holds_it():
    outer = rows(replace(side("r", "loop"), modules=("encoder",)))
    named = rows(replace(side("r", "loop/one"), modules=("encoder.inner",)))
    unnamed = rows(replace(side("r", "loop/two"), modules=()))
    found = with_bodies(outer, {"loop": [*named, *unnamed]})
    assert [row.module for row in found] == ["encoder.inner", "encoder", "encoder"]


def test_alone_a_side_has_no_counterparts():
    assert {row.counterpart for row in rows(side("r", "a", "b"))} == {None}


def test_a_body_stands_before_its_node_and_is_connected_on_both_ends():
    outer = rows(side("r", "before", "loop", "after"))
    inner = rows(side("r", "loop/one", "loop/two"))
    found = with_bodies(outer, {"loop": inner})
    assert [row.node for row in found] == ["before", "loop/one", "loop/two", "loop", "after"]
    sources = {row.node: row.sources for row in found}
    assert sources["loop/one"] == ("before",)
    assert sources["loop/two"] == ("loop/one",)
    assert sources["loop"] == ("before", "loop/two")
    assert sources["after"] == ("loop",)
    assert profile("r", found).sources == ((), (0,), (1,), (0, 2), (3,))


def test_rows_of_an_extracted_body_get_the_names_of_the_whole_models():
    (row,) = rows(side("r", "relu"))
    here, there = SubgraphNames(prefix="loop/b#0/"), SubgraphNames(prefix="while/b#0/")
    (found,) = renamed([replace(row, counterpart="other", sources=("x",))], here, there, 4)
    assert (found.node, found.counterpart) == ("loop/b#0/relu", "while/b#0/other")
    assert (found.sources, found.round) == (("loop/b#0/x",), 4)
    (kept,) = renamed([replace(row, round=1)], here, there, 4)
    assert kept.round == 1
