"""What a body reads in each iteration, by the rules of the framework that wrote the loop."""

import numpy as np
import pytest

from isomorph.core.model import Graph, Node, TensorSpec
from isomorph.localize.loop_steps import (
    Round,
    body_output,
    captured,
    first_round,
    next_round,
    other_branches,
    prefix_of,
)


def specs(words):
    return tuple(TensorSpec(name=name, dtype="float32", shape=None) for name in words.split())


def body(inputs, outputs, nodes=(), constants=()):
    return Graph(
        name="b", inputs=specs(inputs), outputs=specs(outputs), nodes=tuple(nodes), tensors={},
        constants=dict.fromkeys(constants),
    )  # fmt: skip


def node(op, inputs, outputs="y", **more):
    return Node(
        name=more.pop("name", "n"), op=op, native_op=op, inputs=tuple(inputs.split()),
        outputs=tuple(outputs.split()), **more,
    )  # fmt: skip


def reader(**values):
    return lambda name: np.asarray(values[name])


@pytest.mark.parametrize("words", [("then_branch", "else_branch"), ("true_graph", "false_graph")])
@pytest.mark.parametrize("condition", [True, False])
def test_a_condition_chooses_the_branch_and_the_inputs_follow_it(words, condition):
    branches = {words[0]: body("a", "t"), words[1]: body("b", "e")}
    branch = node("If", "c x", bodies=branches)
    read = reader(c=[condition], x=[3.0])
    taken = first_round(branch, read)
    assert taken.key == words[0 if condition else 1]
    assert taken.feeds == {"a" if condition else "b": [3.0]}
    (other,) = other_branches(branch, taken)
    assert other.key == words[1 if condition else 0]
    assert other.feeds == {"b" if condition else "a": [3.0]}
    assert next_round(branch, taken, {}, read) is None


def test_a_while_loop_carries_its_states_and_keeps_what_it_only_reads():
    loop = node("Loop", "i s k", bodies={"cond": body("i s", "go"), "body": body("i s k", "j t")})
    read = reader(i=0, s=[1.0], k=[7.0])
    first = first_round(loop, read)
    assert (first.key, first.number) == ("body", 0)
    assert {name: value.tolist() for name, value in first.feeds.items()} == {
        "i": 0, "s": [1.0], "k": [7.0],
    }  # fmt: skip
    second = next_round(loop, first, {"j": np.array(1), "t": np.array([2.0])}, read)
    assert {name: value.tolist() for name, value in second.feeds.items()} == {
        "i": 1, "s": [2.0], "k": [7.0],
    }  # fmt: skip
    assert second.number == 1


@pytest.fixture
def onnx_loop():
    return node("Loop", "trips go s", "last all", bodies={"body": body("i c s", "c2 s2 row")})


def test_an_onnx_loop_counts_its_rounds_and_ends_with_its_condition(onnx_loop):
    read = reader(trips=5, go=True, s=[1.0])
    first = first_round(onnx_loop, read)
    assert int(first.feeds["i"]) == 0
    assert bool(first.feeds["c"])
    assert first.feeds["s"].tolist() == [1.0]
    results = {"c2": np.array(True), "s2": np.array([4.0]), "row": np.array([9.0])}
    second = next_round(onnx_loop, first, results, read)
    assert (int(second.feeds["i"]), second.feeds["s"].tolist(), second.number) == (1, [4.0], 1)
    assert next_round(onnx_loop, second, results | {"c2": np.array([False])}, read) is None


def test_an_output_of_a_loop_is_the_one_behind_the_condition(onnx_loop):
    assert body_output(onnx_loop, "body", "last") == "s2"
    assert body_output(onnx_loop, "body", "all") == "row"
    branch = node("If", "c", "y z", bodies={"then": body("", "t")})
    assert body_output(branch, "then", "y") == "t"
    assert body_output(branch, "then", "z") is None


def test_a_scripted_loop_has_no_flag_and_its_states_last():
    loop = node("Loop", "trips go s", bodies={"loop": body("i s", "go s2")})
    first = first_round(loop, reader(trips=3, go=True, s=[1.0]))
    assert {name: value.tolist() for name, value in first.feeds.items()} == {"i": 0, "s": [1.0]}
    assert first_round(node("Loop", "", bodies=loop.bodies), reader()) is None


@pytest.mark.parametrize(("backward", "rows"), [(0, [1.0, 2.0, 3.0]), (1, [3.0, 2.0, 1.0])])
def test_a_scan_takes_one_row_after_the_other_in_its_direction(backward, rows):
    about = {
        "num_scan_inputs": 1, "scan_input_axes": (1,), "scan_input_directions": (backward,),
    }  # fmt: skip
    scan = node("Scan", "s x", bodies={"body": body("state row", "after out")}, attributes=about)
    read = reader(s=[0.0], x=[[1.0, 2.0, 3.0]])
    seen, states, current = [], [], first_round(scan, read)
    while current is not None:
        seen.append(float(current.feeds["row"][0]))
        states.append(float(current.feeds["state"][0]))
        results = {"after": np.array([10.0 + current.number])}
        current = next_round(scan, current, results, read)
    assert seen == rows
    assert states == [0.0, 10.0, 11.0]


def test_a_batch_of_scans_and_an_unknown_operator_have_no_rule():
    old = node(
        "Scan", "lengths s x", bodies={"body": body("state row", "after")},
        attributes={"num_scan_inputs": 1},
    )  # fmt: skip
    assert first_round(old, reader(lengths=[1], s=[0], x=[[0]])) is None
    plain = node("Scan", "s x", bodies=old.bodies, attributes={"num_scan_inputs": 1})
    assert first_round(plain, reader(s=[0], x=[[5]])).feeds["row"].tolist() == [5]
    assert first_round(node("SequenceMap", "x", bodies={"body": body("a", "b")}), reader()) is None


def test_what_a_body_reads_from_around_it_is_what_it_neither_takes_makes_nor_holds():
    made = body(
        "a", "m outer_out", [node("Add", "a w", "m"), node("Mul", "m outer", "n")], constants=["w"]
    )
    assert captured(made) == ["outer", "outer_out"]


def test_the_prefix_of_a_body_is_read_off_its_nodes():
    inner = node("Relu", "a", "m", name="n/body#2/relu")
    assert prefix_of(node("Loop", "x", bodies={"body": body("a", "m", [inner])}), "body") == (
        "n/body#2/"
    )
    assert prefix_of(node("Loop", "x", bodies={"body": body("a", "m")}), "body") == "n/body#0/"


def test_branches_without_inputs_get_what_the_other_one_read():
    branch = node("If", "c", bodies={"then": body("", "t"), "else": body("", "e")})
    taken = Round(key="then", feeds={"outer": np.array(1.0)})
    (other,) = other_branches(branch, taken)
    assert other.feeds == taken.feeds
