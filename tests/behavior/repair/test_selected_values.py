"""Repairs of what selects values: masks and branches."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import isomorph

F32 = np.float32
X = np.random.default_rng(5).standard_normal((3, 4)).astype(F32)
LOWER = np.tri(3, 4, dtype=bool)


def _floats(name, *shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def _model(path, nodes, constants):
    stored = [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()]
    graph = helper.make_graph(nodes, "g", [_floats("x", 3, 4)], [_floats("y", 3, 4)], stored)
    opsets = [helper.make_opsetid("", 20)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    return path


def _node(op, inputs, output, **attributes):
    return helper.make_node(op, inputs.split(), [output], name=f"{op}_{output}", **attributes)


def _repaired(reference, candidate, inputs, tmp_path):
    fixed = tmp_path / "fixed.onnx"
    found = isomorph.fix(reference, candidate, output=fixed, inputs=inputs, in_process=True)
    assert found.repaired, found.reason
    return onnx.load(fixed)


def test_a_mask_with_other_elements_is_given_the_values_of_the_reference(tmp_path):
    def masked(name, mask):
        nodes = [_node("Where", "m x low", "s"), _node("Softmax", "s", "y")]
        return _model(tmp_path / name, nodes, {"m": mask, "low": F32(-1e9)})

    wrong = LOWER | np.eye(3, 4, 1, dtype=bool)
    pair = masked("ref.onnx", LOWER), masked("cand.onnx", wrong)
    report = isomorph.check(*pair, inputs={"x": X}, in_process=True)
    first = report.findings[0]
    assert (first.node, first.cause) == ("Where_s", "weight")
    assert "3 of 12 values differ" in first.summary
    fixed = _repaired(*pair, {"x": X}, tmp_path)
    values = {each.name: numpy_helper.to_array(each) for each in fixed.graph.initializer}
    assert any(np.array_equal(LOWER, each) for each in values.values())


def test_what_a_branch_lacks_is_not_added_behind_all_branches(tmp_path):
    def branching(name, number):
        taken = helper.make_graph(
            [_node("Add", "x k", "t")], "t", [], [_floats("t", 3, 4)],
            [numpy_helper.from_array(F32(number), "k")],
        )  # fmt: skip
        other = helper.make_graph([_node("Tanh", "x", "e")], "e", [], [_floats("e", 3, 4)])
        nodes = [
            _node("ReduceMean", "x", "mean", keepdims=0),
            _node("Greater", "mean zero", "c"),
            _node("If", "c", "y", then_branch=taken, else_branch=other),
        ]
        return _model(tmp_path / name, nodes, {"zero": F32(0)})

    pair = branching("ref.onnx", 0.1), branching("cand.onnx", 0.2)
    fixed = _repaired(*pair, {"x": np.abs(X)}, tmp_path)
    assert [each.op_type for each in fixed.graph.node] == ["ReduceMean", "Greater", "If"]
