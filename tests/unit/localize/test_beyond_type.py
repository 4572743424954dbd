"""An output that leaves float16: the node whose numbers do is named, and no rounding."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import isomorph
from isomorph.reporters._findings import repairable

RNG = np.random.default_rng(0)
WEIGHTS = {name: RNG.normal(size=(16, 16)) / 4 for name in ("u0", "d0", "u1", "d1")}
X = {"x": RNG.normal(size=(2, 16)).astype(np.float32)}


def stream(kind, factor, **changed):
    """Two blocks of a residual stream, which is an output too; the second one may be large."""
    dtype = {"float32": np.float32, "float16": np.float16}[kind]
    declared = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    assert declared in {TensorProto.FLOAT, TensorProto.FLOAT16}
    weights = {**WEIGHTS, **changed}
    weights |= {name: weights[name] * factor for name in ("u1", "d1")}
    nodes, source = [], "x"
    for block in "01":
        nodes += [
            helper.make_node("MatMul", [source, f"u{block}"], [f"h{block}"], f"up{block}"),
            helper.make_node("Relu", [f"h{block}"], [f"r{block}"], f"relu{block}"),
            helper.make_node("MatMul", [f"r{block}", f"d{block}"], [f"o{block}"], f"down{block}"),
            helper.make_node("Add", [source, f"o{block}"], [f"s{block}"], f"add{block}"),
        ]
        source = f"s{block}"
    nodes.append(helper.make_node("Softmax", [source], ["y"], "soft", axis=-1))
    ends = [helper.make_tensor_value_info(n, declared, [2, 16]) for n in ("x", "y", "s0", "s1")]
    stored = [numpy_helper.from_array(v.astype(dtype), name) for name, v in weights.items()]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def checked(factor, **changed):
    pair = stream("float32", factor), stream("float16", factor, **changed)
    onnx.checker.check_model(pair[1])
    return isomorph.check(*pair, inputs=X, in_process=True)


def test_the_node_whose_numbers_leave_the_type_is_named_and_no_rounding():
    report = checked(400.0)
    assert report.verdict == "divergent"
    nodes = [(each.code, each.node, each.cause) for each in report.findings if each.node]
    assert nodes == [("NOT_FINITE", "down1", "precision")]
    first = next(each for each in report.findings if each.node)
    assert "float16 ends at 65504" in first.summary
    assert "--precision float16" in first.fix
    assert not repairable(first), "no patch gives a node another type"


@pytest.mark.parametrize("factor", [1.0, 20.0])
def test_numbers_within_the_type_are_a_loss(factor):
    report = checked(factor)
    assert report.verdict == "degraded"
    assert not [each for each in report.findings if each.node]


def test_a_wrong_weight_that_leaves_the_type_is_a_weight():
    wrong = WEIGHTS["d0"].copy()
    wrong[:, 0] += 2e5
    report = checked(1.0, d0=np.clip(wrong, -6e4, 6e4))
    assert report.verdict == "divergent"
    assert [each.node for each in report.findings if each.code == "GUILTY_NODE"][:1] == ["down0"]
