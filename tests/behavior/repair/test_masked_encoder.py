"""A repair is proven on inputs that isomorph made up, though a mask among them hides rows."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import isomorph

WIDTH, STEPS = 8, 6
OPSETS = [helper.make_opsetid("", 18)]


def _weights():
    random = np.random.default_rng(0)
    names = ("query", "key", "value", "feed")
    return {name: random.normal(size=(WIDTH, WIDTH)).astype(np.float32) / 2 for name in names}


def _encoder(path, *, lengths, alpha=1 / 6, epsilon=1e-12):
    """Attention under a mask, a residual, LeakyRelu and a norm; masked steps come out as zero."""
    constants = {
        **_weights(),
        "scale": np.ones(WIDTH, np.float32),
        "closed": np.array([-np.inf], np.float32),
        "zero": np.array([0.0], np.float32),
        "steps": np.arange(STEPS, dtype=np.int64)[None],
        "one": np.array([1], np.int64),
        "two": np.array([2], np.int64),
    }
    masks = [
        helper.make_node("Unsqueeze", ["lengths", "one"], ["column"], "column"),
        helper.make_node("Less", ["steps", "column"], ["mask"], "within"),
    ]
    nodes = [
        *(masks if lengths else []),
        helper.make_node("Unsqueeze", ["mask", "one"], ["over"], "over_keys"),
        helper.make_node("Unsqueeze", ["mask", "two"], ["rows"], "of_rows"),
        helper.make_node("LayerNormalization", ["x", "scale"], ["n"], "norm", epsilon=epsilon),
        helper.make_node("MatMul", ["n", "query"], ["q"], "to_query"),
        helper.make_node("MatMul", ["n", "key"], ["k"], "to_key"),
        helper.make_node("MatMul", ["n", "value"], ["v"], "to_value"),
        helper.make_node("Transpose", ["k"], ["kt"], "turned", perm=[0, 2, 1]),
        helper.make_node("MatMul", ["q", "kt"], ["scores"], "match"),
        helper.make_node("Where", ["over", "scores", "closed"], ["open"], "closed_steps"),
        helper.make_node("Softmax", ["open"], ["shares"], "softmax", axis=-1),
        helper.make_node("MatMul", ["shares", "v"], ["mixed"], "mix"),
        helper.make_node("Add", ["x", "mixed"], ["sum"], "residual"),
        helper.make_node("MatMul", ["sum", "feed"], ["fed"], "feed_forward"),
        helper.make_node("LeakyRelu", ["fed"], ["bent"], "bend", alpha=alpha),
        helper.make_node("Where", ["rows", "bent", "zero"], ["y"], "masked"),
    ]
    second = (
        ("lengths", TensorProto.INT64, [2]) if lengths else ("mask", TensorProto.BOOL, [2, STEPS])
    )
    ends = [("x", TensorProto.FLOAT, [2, STEPS, WIDTH]), second]
    graph = helper.make_graph(
        nodes, "g",
        [helper.make_tensor_value_info(*each) for each in ends],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, STEPS, WIDTH])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=OPSETS, ir_version=10), path)
    return path


@pytest.mark.parametrize(
    ("lengths", "fault", "node"),
    [(True, {"alpha": 0.01}, "bend"), (False, {"epsilon": 0.05}, "norm")],
    ids=["lengths", "mask"],
)
def test_a_right_repair_is_not_refused(tmp_path, lengths, fault, node):
    reference = _encoder(tmp_path / "reference.onnx", lengths=lengths)
    candidate = _encoder(tmp_path / "candidate.onnx", lengths=lengths, **fault)
    repair = isomorph.fix(reference, candidate, output=tmp_path / "new.onnx", in_process=True)
    assert repair.exit_code == 0
    written = next(n for n in onnx.load(tmp_path / "new.onnx").graph.node if n.name == node)
    (name,) = fault
    right = {"alpha": 1 / 6, "epsilon": 1e-12}[name]
    found = next(a.f for a in written.attribute if a.name == name)
    assert found == np.float32(right)
