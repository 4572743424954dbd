"""Every edit is applied to a copy, and nothing to the model."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper

from isomorph.core import patch as edits
from isomorph.core.errors import IsomorphError, UsageError
from isomorph.core.patch import Patch
from isomorph.core.trace import Environment
from isomorph.frameworks.onnx.framework import OnnxFramework
from isomorph.frameworks.onnx.oracle import OnnxOracle

FRAMEWORK = OnnxFramework()
X = np.array([[-1.0, 2.0, -3.0]], np.float32)
TEXT = """
<ir_version: 9, opset_import: ["" : 20]>
g (float[1,3] x) => (float[1,3] y, float[1,3] z) <float[3] w = {1, 2, 3}, float[3] unused = {5, 5,
5}> {
  [scale] scaled = Mul(x, w)
  [act] bent = LeakyRelu<alpha: float = 0.5>(scaled)
  [diff] y = Sub(bent, x)
  [half] two = Constant<value_float: float = 2.0>()
  z = Div(bent, two)
}
"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model(TEXT), path)
    return FRAMEWORK.load(path, {})


def applied(model, tmp_path, *done, x=X):
    """The outputs of a patched copy in ONNX Runtime; the original's bytes stay."""
    before = model.native.proto.SerializeToString()
    path = tmp_path / "patched.onnx"
    FRAMEWORK.apply(model, Patch(summary="", edits=done), path)
    assert model.native.proto.SerializeToString() == before
    FRAMEWORK.load(path, {})
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return dict(
        zip([o.name for o in session.get_outputs()], session.run(None, {"x": x}), strict=True)
    )


def bent(x=X, w=(1, 2, 3), alpha=0.5):
    scaled = x * np.array(w, np.float32)
    return np.where(scaled < 0, alpha * scaled, scaled).astype(np.float32)


def test_an_attribute_is_set_in_its_own_type(model, tmp_path):
    # A whole number for a float attribute is written as a float.
    out = applied(model, tmp_path, edits.SetAttribute(node="act", name="alpha", value=0))
    assert np.array_equal(out["y"], bent(alpha=0.0) - X)


def test_an_attribute_is_taken_away_and_its_default_holds(model, tmp_path):
    out = applied(model, tmp_path, edits.SetAttribute(node="act", name="alpha", value=None))
    assert np.allclose(out["y"], bent(alpha=0.01) - X, rtol=1e-6)


def test_a_constant_gets_other_values_and_keeps_its_type(model, tmp_path):
    value = np.array([3.0, 2.0, 1.0])
    out = applied(model, tmp_path, edits.SetConstant(tensor="w", value=value))
    assert out["y"].dtype == np.float32
    assert np.array_equal(out["y"], bent(w=(3, 2, 1)) - X)


def test_a_constant_node_gets_another_value(model, tmp_path):
    out = applied(model, tmp_path, edits.SetConstant(tensor="two", value=np.float64(4.0)))
    assert np.array_equal(out["z"], bent() / 4)


def test_a_new_constant_is_read_by_an_input(model, tmp_path):
    out = applied(
        model,
        tmp_path,
        edits.AddConstant(name="w2", value=np.full(3, 2.0, np.float32)),
        edits.SetInput(node="scale", index=1, tensor="w2"),
    )
    assert np.array_equal(out["y"], bent(w=(2, 2, 2)) - X)


def test_another_operator_on_the_same_inputs(model, tmp_path):
    out = applied(model, tmp_path, edits.SetOp(node="act", op="Relu"))
    assert np.array_equal(out["y"], bent(alpha=0.0) - X)


def test_a_removed_node_hands_its_input_on(model, tmp_path):
    out = applied(model, tmp_path, edits.RemoveNode(node="act"))
    assert np.array_equal(out["y"], X * [1, 2, 3] - X)
    assert np.array_equal(out["z"], X * [1, 2, 3] / 2)


def test_several_nodes_are_removed_one_after_the_other(model, tmp_path):
    out = applied(model, tmp_path, edits.RemoveNode(node="scale"), edits.RemoveNode(node="act"))
    assert np.array_equal(out["y"], X - X)


def test_a_removed_node_at_an_output_keeps_the_outputs_name(model, tmp_path):
    out = applied(model, tmp_path, edits.RemoveNode(node="Div@z"))
    assert np.array_equal(out["z"], bent())


def test_a_node_is_inserted_behind_a_tensor_for_all_its_readers(model, tmp_path):
    out = applied(model, tmp_path, edits.InsertBehind(tensor="bent", op="Neg", name="new"))
    assert np.array_equal(out["y"], -bent() - X)
    assert np.array_equal(out["z"], -bent() / 2)


def test_a_node_is_inserted_behind_an_output(model, tmp_path):
    behind = edits.InsertBehind(tensor="y", op="Add", name="new", inputs=("unused", ""))
    assert np.array_equal(applied(model, tmp_path, behind)["y"], bent() - X + 5)


def test_a_node_is_inserted_before_one_input_alone(model, tmp_path):
    out = applied(model, tmp_path, edits.InsertAhead(node="diff", index=0, op="Abs", name="new"))
    assert np.array_equal(out["y"], np.abs(bent()) - X)
    assert np.array_equal(out["z"], bent() / 2)


def test_outputs_are_put_in_another_order(model, tmp_path):
    assert list(applied(model, tmp_path, edits.SetOutputs(names=("z", "y")))) == ["z", "y"]


def test_branches_are_exchanged(tmp_path):
    proto = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["" : 20]> g (float[1,3] x, bool c) => (float[1,3] y) {'
        " [choose] y = If(c) <then_branch = a () => (float[1,3] t) { t = Neg(x) },"
        " else_branch = b () => (float[1,3] e) { e = Abs(x) }> }"
    )
    path, fixed = tmp_path / "if.onnx", tmp_path / "fixed.onnx"
    onnx.save(proto, path)
    patch = Patch(summary="", edits=(edits.SwapBodies(node="choose"),))
    FRAMEWORK.apply(FRAMEWORK.load(path, {}), patch, fixed)
    session = onnxruntime.InferenceSession(fixed, providers=["CPUExecutionProvider"])
    (out,) = session.run(None, {"x": X, "c": np.array(True)})
    assert np.array_equal(out, np.abs(X))


def test_a_body_is_edited_under_its_own_names(tmp_path):
    proto = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["" : 20]> g (float[1,3] x, bool c) => (float[1,3] y)'
        " <float[1] w = {2.0}> {"
        " [choose] y = If(c) <then_branch = a () => (float[1,3] t) { [neg] s = Neg(x)"
        "  [times] t = Mul(s, w) },"
        " else_branch = b () => (float[1,3] e) { e = Mul(x, w) }> }"
    )
    path, fixed = tmp_path / "if.onnx", tmp_path / "fixed.onnx"
    onnx.save(proto, path)
    inner = (
        edits.SetOp(node="neg", op="Abs"),
        edits.SetConstant(tensor="w", value=np.array([5.0])),
        edits.AddConstant(name="more", value=np.ones(1, np.float32)),
        edits.InsertBehind(tensor="t", op="Add", name="plus", inputs=("", "more")),
    )
    patch = Patch(
        summary="", edits=(edits.EditBody(node="choose", body="then_branch", edits=inner),)
    )
    FRAMEWORK.apply(FRAMEWORK.load(path, {}), patch, fixed)
    session = onnxruntime.InferenceSession(fixed, providers=["CPUExecutionProvider"])
    (out,) = session.run(None, {"x": X, "c": np.array(True)})
    assert np.array_equal(out, 5 * np.abs(X) + 1)
    (other,) = session.run(None, {"x": X, "c": np.array(False)})
    assert np.array_equal(other, 2 * X), "the other branch reads what it read before"


def test_a_constant_of_a_body_has_a_path(tmp_path):
    proto = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["" : 20]> g (float[1,3] x, bool c) => (float[1,3] y)'
        " <float[1] w = {2.0}> {"
        " [choose] y = If(c) <then_branch = a () => (float[1,3] t) <float[1] k = {3.0}>"
        " { t = Mul(x, k) }, else_branch = b () => (float[1,3] e) { e = Mul(x, w) }> }"
    )
    path, fixed = tmp_path / "if.onnx", tmp_path / "fixed.onnx"
    onnx.save(proto, path)
    place = "choose/then_branch#0/k"
    patch = Patch(summary="", edits=(edits.SetConstant(tensor=place, value=np.array([5.0])),))
    FRAMEWORK.apply(FRAMEWORK.load(path, {}), patch, fixed)
    session = onnxruntime.InferenceSession(fixed, providers=["CPUExecutionProvider"])
    found = [session.run(None, {"x": X, "c": np.array(each)})[0] for each in (True, False)]
    assert np.array_equal(found[0], 5 * X)
    assert np.array_equal(found[1], 2 * X)


@pytest.mark.parametrize(
    "edit",
    [
        edits.EditBody(node="act", body="then_branch", edits=()),
        edits.SetAttribute(node="nobody", name="alpha", value=1.0),
        edits.SetConstant(tensor="x", value=X),
        edits.AddConstant(name="bent", value=X),
        edits.SetInput(node="act", index=0, tensor="nowhere"),
        edits.SetInput(node="act", index=0, tensor="y"),
        edits.InsertBehind(tensor="x", op="Neg", name="new"),
        edits.InsertAhead(node="diff", index=0, op="Neg", name="act"),
        edits.InsertAhead(node="diff", index=0, op="NoSuchOperator", name="new"),
        edits.SetOutputs(names=("y",)),
        edits.SwapBodies(node="act"),
    ],
)
def test_what_would_make_no_model_is_refused_and_leaves_no_file(model, tmp_path, edit):
    path = tmp_path / "patched.onnx"
    with pytest.raises(IsomorphError):
        FRAMEWORK.apply(model, Patch(summary="", edits=(edit,)), path)
    assert not path.exists()


def test_a_patch_that_makes_a_node_depend_on_itself_is_reported(model, tmp_path):
    loop = Patch(summary="", edits=(edits.SetInput(node="scale", index=0, tensor="y"),))
    with pytest.raises(UsageError, match="depend on its own result"):
        FRAMEWORK.apply(model, loop, tmp_path / "patched.onnx")


def test_declared_types_behind_an_edit_are_forgotten(tmp_path):
    proto = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["" : 20]> g (float[1,3] x) => (float[1,3] y)'
        " <float16[1,3] h, float[1,3] b> { [down] h = Cast<to: int = 10>(x)"
        " b = Cast<to: int = 1>(h) y = Neg(b) }"
    )
    assert [value.name for value in proto.graph.value_info] == ["h", "b"]
    path = tmp_path / "cast.onnx"
    onnx.save(proto, path)
    model = FRAMEWORK.load(path, {})
    x = np.array([[1e5, 1.0, 2.0]], np.float32)
    out = applied(model, tmp_path, edits.SetAttribute(node="down", name="to", value=1), x=x)
    assert np.array_equal(out["y"], -x)


@pytest.mark.parametrize("external", [False, True])
def test_a_patched_graph_reads_large_weights_from_the_original(tmp_path, external):
    weight = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)
    proto = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["" : 20]> g (float[1,64] x) => (float[1,64] y)'
        " { [mul] m = MatMul(x, w) [act] y = Neg(m) }"
    )
    proto.graph.initializer.append(numpy_helper.from_array(weight, "w"))
    path = tmp_path / "big.onnx"
    onnx.save(proto, path, save_as_external_data=external, location="w.bin", size_threshold=0)
    model = FRAMEWORK.load(path, {})
    x = np.ones((1, 64), np.float32)

    def computed(*done):
        patched = FRAMEWORK.apply_in_memory(model, Patch(summary="", edits=done))
        assert sum(
            t.ByteSize() for t in patched.native.proto.graph.initializer
        ) < weight.nbytes or (done and isinstance(done[0], edits.SetConstant))
        session = OnnxOracle().open(patched, Environment(runtime="onnx_oracle"))
        return session.run({"x": x}, ["y"])["y"]

    exact = x.astype(np.float64) @ weight
    assert np.array_equal(computed(edits.SetOp(node="act", op="Abs")), exact)
    assert np.array_equal(computed(edits.SetConstant(tensor="w", value=weight * 2)), -2 * exact)


def test_a_patched_copy_of_a_model_with_weights_beside_it_is_complete(tmp_path):
    weight = np.arange(9, dtype=np.float32).reshape(3, 3)
    proto = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["" : 20]> g (float[1,3] x) => (float[1,3] y)'
        " { [mul] m = MatMul(x, w) [act] y = Neg(m) }"
    )
    proto.graph.initializer.append(numpy_helper.from_array(weight, "w"))
    path = tmp_path / "outer.onnx"
    onnx.save(proto, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    out = applied(FRAMEWORK.load(path, {}), tmp_path, edits.RemoveNode(node="act"))
    assert np.array_equal(out["y"], X @ weight)
