"""If, Loop, Scan and SequenceMap, with bodies that read the tensors around them."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from isomorph.frameworks.onnx.evaluator import Evaluator

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
X = np.array([0.1, 1.0, -3.3], np.float32)
WIDE = X.astype(np.float64)


def value(name, kind=FLOAT, shape=None):
    return helper.make_tensor_value_info(name, kind, shape)


def opened(nodes, inputs, outputs, constants=None, opset=18):
    stored = [numpy_helper.from_array(np.asarray(a), n) for n, a in (constants or {}).items()]
    graph = helper.make_graph(nodes, "g", inputs, outputs, stored)
    return Evaluator(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]))


def branch(op, name):
    made = helper.make_node(op, ["x", "w"], [name])
    return helper.make_graph([made], name, [], [value(name, shape=[3])])


@pytest.mark.parametrize(("chosen", "expected"), [(True, WIDE + 2.0), (False, WIDE * 2.0)])
def test_if_takes_one_branch_and_reads_outside(chosen, expected):
    evaluator = opened(
        [
            helper.make_node(
                "If", ["c"], ["y"], then_branch=branch("Add", "t"), else_branch=branch("Mul", "e")
            )
        ],
        [value("c", BOOL, []), value("x", shape=[3])],
        [value("y", shape=[3])],
        {"w": np.float32([2.0])},
    )
    y = evaluator.run({"c": np.array(chosen), "x": X}, ["y"])["y"]
    assert np.array_equal(y, expected)


def test_a_constant_chosen_by_data_is_lifted():
    body = {
        name: helper.make_graph(
            [helper.make_node("Mul", ["w", "w"], [name])], name, [], [value(name, shape=[1])]
        )
        for name in ("t", "e")
    }
    evaluator = opened(
        [
            helper.make_node("If", ["c"], ["k"], then_branch=body["t"], else_branch=body["e"]),
            helper.make_node("Mul", ["k", "k"], ["y"]),
        ],
        [value("c", BOOL, [])],
        [value("y", shape=[1])],
        {"w": np.float32([1 / 3])},
    )
    square = np.float32(1 / 3) * np.float32(1 / 3)
    y = evaluator.run({"c": np.array(True)}, ["y"])["y"]
    assert y == np.float64(square) ** 2


def loop_body():
    return helper.make_graph(
        [
            helper.make_node("Add", ["sum_in", "x"], ["sum_out"]),
            helper.make_node("Identity", ["sum_out"], ["row"]),
            helper.make_node("Identity", ["go_in"], ["go_out"]),
        ],
        "body",
        [value("i", INT64, []), value("go_in", BOOL, []), value("sum_in", shape=[3])],
        [value("go_out", BOOL, []), value("sum_out", shape=[3]), value("row", shape=[3])],
    )


@pytest.mark.parametrize("trips", [4, 0])
def test_loop_carries_stacks_and_reads_outside(trips):
    evaluator = opened(
        [helper.make_node("Loop", ["m", "go", "zero"], ["total", "rows"], body=loop_body())],
        [value("x", shape=[3]), value("m", INT64, [])],
        [value("total", shape=[3]), value("rows")],
        {"go": np.array(True), "zero": np.zeros(3, np.float32)},
    )
    result = evaluator.run({"x": X, "m": np.array(trips)}, ["total", "rows"])
    sums = np.cumsum(np.tile(WIDE, (trips, 1)), axis=0)
    assert result["rows"].shape == (trips, 3)
    assert np.array_equal(result["rows"], sums)
    assert np.array_equal(result["total"], sums[-1] if trips else np.zeros(3))


def test_loop_ends_when_its_condition_does():
    body = helper.make_graph(
        [
            helper.make_node("Add", ["v", "x"], ["v2"]),
            helper.make_node("ReduceMax", ["v2"], ["top"], keepdims=0),
            helper.make_node("Less", ["top", "bound"], ["go_out"]),
        ],
        "body",
        [value("i", INT64, []), value("go_in", BOOL, []), value("v", shape=[3])],
        [value("go_out", BOOL, []), value("v2", shape=[3])],
    )
    evaluator = opened(
        [helper.make_node("Loop", ["", "go", "x"], ["y"], body=body)],
        [value("x", shape=[3])],
        [value("y", shape=[3])],
        {"go": np.array(True), "bound": np.float32(4.5)},
    )
    assert np.array_equal(evaluator.run({"x": X}, ["y"])["y"], WIDE + WIDE + WIDE + WIDE + WIDE)


@pytest.mark.parametrize("direction", [0, 1])
@pytest.mark.parametrize("axis", [0, 1])
def test_scan_in_both_directions_along_any_axis(direction, axis):
    body = helper.make_graph(
        [
            helper.make_node("Add", ["s", "row"], ["s2"]),
            helper.make_node("Mul", ["s2", "w"], ["out"]),
        ],
        "body",
        [value("s", shape=[2]), value("row", shape=[2])],
        [value("s2", shape=[2]), value("out", shape=[2])],
    )
    evaluator = opened(
        [
            helper.make_node(
                "Scan",
                ["start", "x"],
                ["last", "all"],
                body=body,
                num_scan_inputs=1,
                scan_input_axes=[axis],
                scan_input_directions=[direction],
                scan_output_directions=[direction],
                scan_output_axes=[axis],
            )
        ],
        [value("x")],
        [value("last"), value("all")],
        {"start": np.zeros(2, np.float32), "w": np.float32([3.0])},
    )
    rows = np.arange(6, dtype=np.float32).reshape(3, 2) / 7
    x = rows if axis == 0 else rows.T
    result = evaluator.run({"x": x}, ["last", "all"])
    order = rows.astype(np.float64)[::-1] if direction else rows.astype(np.float64)
    sums = np.cumsum(order, axis=0)
    expected = (sums[::-1] if direction else sums) * 3.0
    assert np.allclose(result["last"], sums[-1], rtol=1e-15)
    assert np.allclose(result["all"], expected if axis == 0 else expected.T, rtol=1e-15)


def test_sequences_go_through_a_map_and_back():
    body = helper.make_graph(
        [helper.make_node("Mul", ["item", "w"], ["out"])],
        "body",
        [value("item")],
        [value("out")],
    )
    evaluator = opened(
        [
            helper.make_node("SplitToSequence", ["x"], ["parts"], keepdims=1),
            helper.make_node("SequenceMap", ["parts"], ["scaled"], body=body),
            helper.make_node("ConcatFromSequence", ["scaled"], ["y"], axis=0),
        ],
        [value("x", shape=[3])],
        [value("y")],
        {"w": np.float32([2.0])},
    )
    result = evaluator.run({"x": X}, ["scaled", "y"])
    assert [len(part) for part in result["scaled"]] == [1, 1, 1]
    assert np.array_equal(result["y"], WIDE * 2.0)


def test_bodies_within_bodies_read_every_level_around():
    inner = helper.make_graph(
        [helper.make_node("Add", ["x", "near"], ["deep"])], "inner", [], [value("deep", shape=[3])]
    )
    other = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["flat"])], "other", [], [value("flat", shape=[3])]
    )
    outer = helper.make_graph(
        [
            helper.make_node("Mul", ["x", "w"], ["near"]),
            helper.make_node("If", ["c"], ["y1"], then_branch=inner, else_branch=other),
        ],
        "outer",
        [],
        [value("y1", shape=[3])],
    )
    plain = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["same"])], "plain", [], [value("same", shape=[3])]
    )
    evaluator = opened(
        [helper.make_node("If", ["c"], ["y"], then_branch=outer, else_branch=plain)],
        [value("c", BOOL, []), value("x", shape=[3])],
        [value("y", shape=[3])],
        {"w": np.float32([2.0])},
    )
    y = evaluator.run({"c": np.array(True), "x": X}, ["y"])["y"]
    assert np.array_equal(y, WIDE + WIDE * 2.0)
