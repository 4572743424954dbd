"""OpenVINO on the CPU: right in float32, and its own choice of bfloat16 is called by its name."""

import numpy as np
import onnx
import pytest

import isomorph
from isomorph import registry
from isomorph.core.errors import UsageError
from isomorph.core.trace import Environment
from network import network

openvino = pytest.importorskip("openvino")


def has_bfloat16():
    return "BF16" in openvino.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    found = tmp_path_factory.mktemp("openvino") / "network.onnx"
    onnx.save(network(), found)
    return found


def checked(path, **settings):
    stated = {f"candidate.{key}": value for key, value in settings.items()}
    return isomorph.check(
        path,
        path,
        in_process=True,
        options=isomorph.CheckOptions(
            runtime=isomorph.RuntimeOptions(name={"candidate": "openvino"}, settings=stated)
        ),
    )


def test_in_float32_it_is_the_same_function(path):
    report = checked(path, precision="f32")
    assert report.verdict == "equivalent"
    assert report.environments["candidate run"].precision == "as declared"


@pytest.mark.skipif(not has_bfloat16(), reason="this processor has no bfloat16")
def test_its_own_choice_of_bfloat16_is_a_matter_of_precision_and_not_of_translation(path):
    report = checked(path)
    assert report.environments["candidate run"].precision == "bfloat16"
    assert report.verdict == "divergent"
    assert all(each.rounding.budget.ratio <= 1.0 for each in report.outputs), "the graphs agree"
    codes = {finding.code for finding in report.findings}
    assert "TRANSLATION" not in codes
    first = report.findings[0]
    assert (first.code, first.cause) == ("GUILTY_NODE", "precision")
    assert "computes in bfloat16" in first.summary
    assert "--set precision=f32" in first.fix
    assert any(each.change.endswith("with full precision") for each in first.experiments)
    assert any("openvino#19355" in each for each in first.evidence["known_issues"])


def test_a_fault_of_the_graph_is_found_through_it_too(path, tmp_path):
    from network import planted

    onnx.save(planted("slope"), tmp_path / "wrong.onnx")
    report = isomorph.check(
        path,
        tmp_path / "wrong.onnx",
        in_process=True,
        options=isomorph.CheckOptions(
            runtime=isomorph.RuntimeOptions(
                name={"candidate": "openvino"}, settings={"candidate.precision": "f32"}
            )
        ),
    )
    assert (report.findings[0].node, report.findings[0].cause) == ("act1", "attribute")


@pytest.mark.parametrize("settings", [{"precision": "f7"}, {"mode": "wild"}, {"threads": "0"}])
def test_a_setting_it_does_not_take_is_refused(path, settings):
    runtime = registry.runtime("openvino")
    model = registry.framework("onnx").load(str(path), {})
    with pytest.raises(UsageError) as caught:
        runtime.open(model, Environment(runtime="openvino", settings=settings))
    assert caught.value.code == "BAD_SETTING"


def test_a_scalar_is_fed_as_a_scalar(tmp_path):
    text = (
        '<ir_version: 9, opset_import: ["" : 18]> g (float[2,3] x, float s) => (float[2,3] y) '
        "{ t = Mul (x, s)  y = Relu (t) }"
    )
    onnx.save(onnx.parser.parse_model(text), tmp_path / "scalar.onnx")
    model = registry.framework("onnx").load(str(tmp_path / "scalar.onnx"), {})
    settings = {**registry.runtime("openvino").settings, "precision": "f32"}
    session = registry.runtime("openvino").open(
        model, Environment(runtime="openvino", settings=settings)
    )
    feeds = {"x": np.ones((2, 3), np.float32), "s": np.asarray(2.0, np.float32)}
    assert session.run(feeds, ["y"])["y"].tolist() == [[2.0] * 3] * 2
    assert session.run(feeds, ["t"])["t"].tolist() == [[2.0] * 3] * 2, "a node by itself"


def test_integers_and_truths_come_back_as_they_are(tmp_path):
    text = (
        '<ir_version: 9, opset_import: ["" : 18]> g (int64[N] i, float[3,4] x) => '
        "(int64[3] best, bool[3,4] above, float[M,4] rows) { best = ArgMax <axis=1, keepdims=0> (x)"
        " above = Greater (x, x) rows = Gather (x, i) }"
    )
    model = onnx.parser.parse_model(text)
    onnx.save(model, tmp_path / "m.onnx")
    x = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    found = isomorph.run(
        tmp_path / "m.onnx",
        inputs={"i": np.array([2, 0]), "x": x},
        in_process=True,
        options=isomorph.RuntimeOptions(name="openvino", settings={"precision": "f32"}),
    ).tensors
    assert found["best"].dtype == np.int64
    assert found["best"].tolist() == x.argmax(1).tolist()
    assert found["above"].dtype == bool
    assert np.array_equal(found["rows"], x[[2, 0]])


def graph_of_shapes():
    """A size taken out of a shape: scalars, and axes that a Constant node states."""
    helper = onnx.helper
    constants = [
        helper.make_node("Constant", [], [name], value=onnx.numpy_helper.from_array(value))
        for name, value in (("place", np.int64(1)), ("axes", np.array([0])))
    ]
    nodes = [
        *constants,
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "place"], ["size"], axis=0),
        helper.make_node("Unsqueeze", ["size", "axes"], ["sizes"]),
        helper.make_node("ConstantOfShape", ["sizes"], ["zeros"]),
        helper.make_node("Add", ["x", "zeros"], ["y"]),
    ]
    kind = onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        nodes, "sizes", [helper.make_tensor_value_info("x", kind, [2, "n"])],
        [helper.make_tensor_value_info("y", kind, [2, "n"])],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_scalars_can_be_fed_and_axes_of_constant_nodes_stay_constants(tmp_path):
    path = tmp_path / "sizes.onnx"
    onnx.save(graph_of_shapes(), path)
    model = registry.framework("onnx").load(str(path), {})
    session = registry.runtime("openvino").open(model, Environment(runtime="openvino"))
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    names = ["size", "sizes", "zeros", "y"]
    found = session.run({"x": x}, names)
    assert found["size"].shape == ()
    assert found["sizes"].tolist() == [3]
    np.testing.assert_array_equal(found["y"], x)
    given = session.run({"size": np.array(4)}, ["zeros"])
    assert given["zeros"].shape == (4,)


@pytest.mark.skipif(not has_bfloat16(), reason="this processor has no bfloat16")
def test_bfloat16_that_was_asked_for_is_a_declared_loss(path):
    report = checked(path, precision="bf16")
    assert report.environments["candidate run"].precision == "bfloat16"
    assert report.verdict == "degraded", report.reason
