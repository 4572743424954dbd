"""A tensor of another shape is the fault of the node that made it so, not of its reader."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from isomorph.core.divergence import Verdict
from onnx_pairs import check, model, node

X = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)


def whole(*numbers):
    return np.array(numbers, np.int64)


FAULTS = {
    "sizes": ("Reshape", [whole(3, 4, 2)], [whole(2, 3, 4, 1)]),
    "fewer axes": ("Reshape", [whole(6, 4)], [whole(2, 12)]),
    "everything kept": ("Slice", [whole(0), whole(2), whole(2)], [whole(0), whole(4), whole(2)]),
    "not repeated": ("Tile", [whole(1, 1, 3)], [whole(1, 1, 1)]),
    "not spread": ("Expand", [whole(5, 2, 3, 4)], [whole(1, 2, 3, 4)]),
    "no border": ("Pad", [whole(0, 0, 1, 0, 0, 1)], [whole(0, 0, 0, 0, 0, 0)]),
    "all picked": ("Gather", [whole(0)], [whole(0, 1)]),
}
TAILS = {
    "alone": (),
    "softmax": ("Softmax",),
    "behind a function": ("Exp", "Softmax"),
    "flattened": ("Neg", "Flatten", "Softmax"),
}


def chain(op, constants, tail):
    stored = {f"c{place}": value for place, value in enumerate(constants)}
    nodes = [node("Tanh", "x", "t"), node(op, " ".join(["t", *stored]), "v")]
    for place, each in enumerate(tail):
        nodes.append(node(each, nodes[-1].output[0], f"s{place}"))
    return model(nodes, {"x": [2, 3, 4]}, {nodes[-1].output[0]: None}, stored)


@pytest.mark.parametrize("tail", TAILS.values(), ids=TAILS)
@pytest.mark.parametrize(("op", "right", "wrong"), FAULTS.values(), ids=FAULTS)
def test_the_node_that_changed_the_shape_is_named(tmp_path, op, right, wrong, tail):
    report = check(tmp_path, chain(op, right, tail), chain(op, wrong, tail), inputs={"x": X})
    first = report.findings[0]
    assert report.verdict is Verdict.DIVERGENT
    assert (first.code, first.node, first.status) == ("GUILTY_NODE", f"{op}_v", "confirmed")
    assert first.local_error is None or np.isfinite(first.local_error)


def branching(sizes):
    """Both branches reshape and normalize; only one has other sizes."""

    def branch(name, values):
        stored = numpy_helper.from_array(whole(*values), f"{name}_sizes")
        nodes = [
            helper.make_node("Reshape", ["t", f"{name}_sizes"], [f"{name}_r"], name=f"{name}_cut"),
            helper.make_node("Softmax", [f"{name}_r"], [f"{name}_y"], name=f"{name}_soft"),
        ]
        out = helper.make_tensor_value_info(f"{name}_y", TensorProto.FLOAT, None)
        return helper.make_graph(nodes, name, [], [out], [stored])

    nodes = [
        node("Tanh", "x", "t"), node("ReduceSum", "x", "s", keepdims=0), node("Less", "s far", "c"),
        node("If", "c", "y", then_branch=branch("yes", sizes), else_branch=branch("no", (24,))),
    ]  # fmt: skip
    return model(nodes, {"x": [2, 3, 4]}, {"y": None}, {"far": np.float32(1e4)})


def test_inside_a_branch_likewise(tmp_path):
    report = check(tmp_path, branching((3, 4, 2)), branching((4, 3, 2)), inputs={"x": X})
    assert report.verdict is Verdict.DIVERGENT
    assert report.findings[0].node.endswith("/yes_cut")


def test_an_axis_that_a_joined_node_lost_is_its_own_fault(tmp_path):
    apart = [node("MatMul", "x x", "m"), node("Mul", "m half", "d"), node("Tanh", "d", "y")]
    joined = [node("MatMul", "x x", "m"), node("Div", "m two", "d"), node("Tanh", "d", "y")]
    sides = (
        model(apart, {"x": [3, 3]}, {"y": None}, {"half": np.full((1, 1, 1), 0.5, np.float32)}),
        model(joined, {"x": [3, 3]}, {"y": None}, {"two": np.float32(2)}),
    )
    report = check(tmp_path, *sides, inputs={"x": X[0, :, :3]})
    assert report.findings[0].node == "Div_d"


def test_sizes_that_the_reference_computes_are_the_cause(tmp_path):
    computed = [
        node("Tanh", "x", "t"), node("Shape", "t", "d", start=1, end=3),
        node("Concat", "d rest", "c", axis=0), node("Reshape", "t c", "v"),
        node("Softmax", "v", "y"),
    ]  # fmt: skip
    shapes = {"x": [2, 3, 4]}, {"y": None}
    stored = [node("Tanh", "x", "t"), node("Reshape", "t c", "v"), node("Softmax", "v", "y")]
    reference = model(computed, *shapes, {"rest": whole(-1)})
    report = check(
        tmp_path, reference, model(stored, *shapes, {"c": whole(2, 3, 4, -1)}), inputs={"x": X}
    )
    first = report.findings[0]
    assert (first.node, first.cause) == ("Reshape_v", "shape")
    assert "for this input they are [3, 4, -1]" in first.summary


def test_a_constant_that_was_folded_wrongly_is_named_with_its_reader(tmp_path):
    rng = np.random.default_rng(3)
    small, kernel = (rng.normal(size=(1, 1, n, n)).astype(np.float32) for n in (4, 3))
    feeds = {"x": rng.normal(size=(1, 1, 8, 8)).astype(np.float32)}
    shapes = {"x": [1, 1, 8, 8]}, {"y": [1, 1, 8, 8]}
    ends = [node("Add", "t f", "a"), node("Softmax", "a", "y")]
    made = node("ConvTranspose", "s k", "f", auto_pad="SAME_UPPER", strides=[2, 2])
    reference = model([node("Tanh", "x", "t"), made, *ends], *shapes, {"s": small, "k": kernel})
    wrong = {"f": rng.normal(size=(1, 1, 8, 8)).astype(np.float32)}
    report = check(
        tmp_path, reference, model([node("Tanh", "x", "t"), *ends], *shapes, wrong), inputs=feeds
    )
    first = report.findings[0]
    assert (first.code, first.node, first.cause) == ("GUILTY_NODE", "Add_a", "weight")
    assert first.evidence["constant"] == "f"


def picked(k):
    """The largest values put back at their places, and rows of a table looked up there."""
    generator = np.random.default_rng(1)
    stored = {
        "w": generator.normal(size=(4, 10)).astype(np.float32),
        "u": generator.normal(size=(10, 3)).astype(np.float32),
        "table": generator.normal(size=(10, 5)).astype(np.float32),
        "k": whole(k),
        "axis": whole(1),
        "sizes": whole(6, 10),
    }
    nodes = [
        node("MatMul", "x w", "h"),
        node("Softmax", "h", "p"),
        node("TopK", "p k", "v i"),
        node("ConstantOfShape", "sizes", "z"),
        node("ScatterElements", "z i v", "d", axis=1),
        node("MatMul", "d u", "y"),
        node("Gather", "table i", "g"),
        node("ReduceSum", "g axis", "sums", keepdims=0),
    ]
    return model(nodes, {"x": [6, 4]}, {"y": [6, 3], "sums": [6, 5]}, stored)


@pytest.mark.parametrize("k", [2, 4])
def test_a_reader_of_two_outputs_that_do_not_fit_each_other_ends_no_search(tmp_path, k):
    """With one output of TopK put right, ScatterElements gets sizes that it cannot take."""
    report = check(tmp_path, picked(3), picked(k), inputs={"x": X.reshape(6, 4)})
    assert report.verdict == Verdict.DIVERGENT
    assert {f.node for f in report.findings if f.code == "GUILTY_NODE"} == {"TopK_v"}
    assert not report.skipped
