"""A branch that hangs on less than rounding: neither a wide budget nor a false alarm."""

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper

import isomorph
from isomorph.measure.undecided_branches import taken_toward

RNG = np.random.default_rng(0)
W = RNG.normal(size=(64, 16)).astype(np.float32)
X = RNG.normal(size=(4, 64)).astype(np.float32)
EDGE = np.float32((X.astype(np.float64) @ W.astype(np.float64)).sum())


def branch(name, factor):
    info = helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 16])
    nodes = [helper.make_node("Mul", ["h", f"by_{name}"], [name], f"mul_{name}")]
    weight = numpy_helper.from_array(np.float32(factor), f"by_{name}")
    return helper.make_graph(nodes, name, [], [info], [weight])


def branching(path, *, then=1.0, other=-1.0, edge=EDGE):
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], "product"),
        helper.make_node("ReduceSum", ["h"], ["sum"], "sum", keepdims=0),
        helper.make_node("Greater", ["sum", "edge"], ["large"], "test"),
        helper.make_node(
            "If", ["large"], ["y"], "choice",
            then_branch=branch("then", then), else_branch=branch("other", other),
        ),
    ]  # fmt: skip
    graph = helper.make_graph(
        nodes, "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 16])],
        [numpy_helper.from_array(W, "w"), numpy_helper.from_array(np.float32(edge), "edge")],
    )  # fmt: skip
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(made, path)
    return path


class Branching(torch.nn.Module):
    def __init__(self, then=1.0):
        super().__init__()
        self.register_buffer("weight", torch.from_numpy(W))
        self.then = then

    def forward(self, x):
        h, then = x @ self.weight, self.then
        return torch.cond(h.sum() > float(EDGE), lambda h: h * then, lambda h: h * -1.0, (h,))


def checked(reference, candidate):
    return isomorph.check(reference, candidate, inputs={"x": X}, in_process=True)


def codes(report):
    return [finding.code for finding in report.findings]


def wrong_where_run(path):
    """A fault of 1% in the branch that this CPU's order of summation makes the runtime take."""
    y = isomorph.run(path, inputs={"x": X}, in_process=True).tensors["y"]
    taken = float(np.vdot(y, X @ W)) > 0
    return {"then": 1.01} if taken else {"other": -1.01}


def test_the_same_model_is_equivalent_with_a_finding_for_the_open_decision(tmp_path):
    path = branching(tmp_path / "a.onnx")
    report = checked(path, path)
    assert report.verdict == "equivalent"
    undecided = [finding for finding in report.findings if finding.code == "OPEN_DECISION"]
    assert {(each.node, each.tensors) for each in undecided} == {("choice", ("large",))}
    # The distance between the branches is no part of the budget.
    assert 1e-2 < report.outputs[0].execution_candidate.budget.ratio < 1.0


def test_a_clear_decision_is_no_finding(tmp_path):
    path = branching(tmp_path / "a.onnx", edge=EDGE - 1)
    assert codes(checked(path, path)) == []


def test_a_fault_in_the_branch_of_the_run_is_not_hidden(tmp_path):
    right = branching(tmp_path / "a.onnx")
    report = checked(right, branching(tmp_path / "b.onnx", **wrong_where_run(right)))
    assert (report.verdict, codes(report)[0]) == ("divergent", "GUILTY_NODE")
    assert "OPEN_DECISION" in codes(report)


def test_runs_that_decide_otherwise_are_both_right(tmp_path):
    # The very next numbers beside the sum as run: one run says larger, the other does not.
    path = branching(tmp_path / "a.onnx")
    seen = isomorph.run(path, inputs={"x": X}, fetch=("sum",), in_process=True).tensors["sum"]
    below, above = (
        branching(tmp_path / f"{word}.onnx", edge=np.nextafter(seen, np.float32(end)))
        for word, end in (("below", -np.inf), ("above", np.inf))
    )
    report = checked(below, above)
    assert report.outputs[0].observed.distance.max_abs > 1.0, "both decided alike"
    assert report.verdict == "equivalent"
    assert "OPEN_DECISION" in codes(report)


def test_a_trace_is_recorded_as_decided(tmp_path):
    right = branching(tmp_path / "a.onnx")
    off = branching(tmp_path / "b.onnx", **wrong_where_run(right))
    isomorph.trace(right, output=tmp_path / "trace", inputs={"x": X}, in_process=True)
    for candidate, verdict in ((right, "equivalent"), (off, "divergent")):
        report = isomorph.check(tmp_path / "trace", candidate, in_process=True)
        assert report.verdict == verdict
        assert any("'choice' decides" in note for note in report.models[0].notes)


@pytest.mark.parametrize(("then", "verdict"), [(1.0, "equivalent"), (1.01, "divergent")])
def test_branches_of_exported_programs(tmp_path, then, verdict):
    path = tmp_path / "a.pt2"
    program = torch.export.export(Branching(then), (torch.from_numpy(X),))
    torch.export.save(program, path)
    report = checked(path, branching(tmp_path / "b.onnx"))
    assert report.verdict == verdict
    assert {f.node for f in report.findings if f.code == "OPEN_DECISION"} == {"cond", "choice"}


def test_decisions_are_tried_one_after_the_other():
    right = {"a": True, "b": False, "c": True}

    def run(taken):
        weights = {"a": 1.0, "b": 2.0, "c": 4.0}
        return {"y": np.array([sum(weights[n] * float(v) for n, v in taken.items())])}

    found = taken_toward(run, dict.fromkeys("abc", np.array(False)), run(right))
    assert {name: bool(value) for name, value in found.items()} == right
