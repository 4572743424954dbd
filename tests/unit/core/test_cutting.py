"""What a cut of a graph needs, found without running anything."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isomorph.core.cutting import (
    find_body,
    incomplete_piece,
    outputs_only,
    unfed_inputs,
    unknown_body,
    unknown_tensor,
    walk_back,
)
from isomorph.core.errors import UsageError

READS = {"a": ("x",), "b": ("a", "w"), "c": ("a",), "d": ("b", "c")}
"""Steps of the same names as what they compute, from the input x and the weight w."""


def walked(fetch, fed=(), before=None):
    maker = {name: name for name in READS}
    more = (lambda step: before.get(step, ())) if before else (lambda _: ())
    return walk_back(fetch, fed, maker.get, READS.__getitem__, more)


def test_the_steps_above_what_is_fetched():
    assert walked(["d"]) == ({"a", "b", "c", "d"}, ["x", "w"])
    assert walked(["b"]) == ({"a", "b"}, ["w", "x"])


def test_nothing_lies_above_what_is_fed():
    assert walked(["d"], {"a"}) == ({"b", "c", "d"}, ["w"])
    assert walked(["d"], {"d"}) == (set(), [])
    assert walked(["x", "d"], {"b", "c", "x"}) == ({"d"}, [])


def test_a_step_that_must_run_before_is_needed_with_what_it_reads():
    assert walked(["c"], {"a"}) == ({"c"}, [])
    assert walked(["c"], {"a"}, {"c": ["b"]}) == ({"b", "c"}, ["w"])


@given(st.data())
def test_it_finds_what_can_be_reached(data):
    count = data.draw(st.integers(1, 8))
    reads = [data.draw(st.sets(st.integers(-2, n - 1))) if n else {-1} for n in range(count)]
    fetch = data.draw(st.lists(st.integers(-2, count - 1), max_size=3))
    fed = data.draw(st.sets(st.integers(-2, count - 1)))
    needed, ends = walk_back(fetch, fed, lambda n: n if n >= 0 else None, reads.__getitem__)

    reached = set(fetch) - fed
    for _ in range(count):
        reached |= {read for n in reached if n >= 0 for read in reads[n]} - fed
    assert needed == {n for n in reached if n >= 0}
    assert sorted(ends) == sorted(n for n in reached if n < 0)


def test_errors_of_a_cut_name_what_is_missing():
    assert unknown_tensor("outptu", ["input", "output"]).code == "UNKNOWN_TENSOR"
    assert "'output'" in unknown_tensor("outptu", ["input", "output"]).fix
    assert "inspect" in unknown_tensor("zzz", ["input"]).fix
    unfed = unfed_inputs(["x", "y"], "z", file="m.onnx")
    assert unfed.code == "MISSING_INPUT"
    assert "'x'" in unfed.sentence
    assert incomplete_piece("x").code == "MISSING_INPUT"
    assert unknown_body("loop", "body").code == "UNKNOWN_NODE"
    inner = outputs_only(["y", "t", "u"], {"y"}, why="", fix="")
    assert inner.code == "OUTPUTS_ONLY"
    assert inner.where == "t, u"


NESTED = {"main": {("if", "then", 0): "then", ("if", "else", 1): "else"}, "then": {}, "else": {}}
NESTED["else"] = {("loop/inner", "body", 0): "deep"}
NESTED["deep"] = {}


def nested(graph):
    for (name, key, number), inner in NESTED[graph].items():
        yield name, key, number, inner


def test_a_body_is_found_by_the_path_of_its_node():
    assert find_body("main", "if", "else", nested) == (["main", "else"], "if/else#1/")
    path, prefix = find_body("main", "if/else#1/loop/inner", "body", nested)
    assert path == ["main", "else", "deep"]
    assert prefix == "if/else#1/loop/inner/body#0/"


@pytest.mark.parametrize(("node", "body"), [("if", "body"), ("no", "then"), ("if/then#0/x", "y")])
def test_a_body_that_is_not_there_is_refused(node, body):
    with pytest.raises(UsageError) as caught:
        find_body("main", node, body, nested)
    assert caught.value.code == "UNKNOWN_NODE"
