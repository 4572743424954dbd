"""Axes that are declared dynamic are tried with other sizes."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import isomorph
from isomorph.core.errors import UsageError
from isomorph.core.limits import SIZE_COMBINATIONS
from isomorph.core.rule_examples import linted_model, node, spec
from isomorph.inputs.dynamic_sizes import free_axes, other_sizes


def model(path, shape):
    """Flattened to ``shape``, then multiplied; the batch is declared dynamic either way."""
    weights = np.random.default_rng(0).standard_normal((12, 5)).astype(np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("Reshape", ["x", "shape"], ["flat"], name="flatten"),
            helper.make_node("MatMul", ["flat", "w"], ["y"], name="product"),
        ],
        "flat",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 5])],
        [
            numpy_helper.from_array(np.array(shape, np.int64), "shape"),
            numpy_helper.from_array(weights, "w"),
        ],
    )
    opset = [helper.make_opsetid("", 18)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=9), path)
    return path


@pytest.fixture
def free(tmp_path):
    return model(tmp_path / "free.onnx", [-1, 12])


def finding(report):
    return next(each for each in report.findings if each.code == "SHAPE_DEPENDENT")


def test_a_frozen_batch_is_found_without_being_asked_for(free, tmp_path):
    frozen = model(tmp_path / "frozen.onnx", [2, 12])
    report = isomorph.check(free, frozen, in_process=True)
    assert report.verdict == "divergent"
    found = finding(report)
    assert found.cause == "shape"
    assert found.node == "flatten"
    assert found.evidence["smallest"] == {"batch": 1}


def test_sizes_beyond_the_limit_are_listed_as_skipped(free):
    most = SIZE_COMBINATIONS.most
    tried = isomorph.check(
        free,
        free,
        in_process=True,
        options=isomorph.CheckOptions(sizes={"batch": range(1, most + 1)}),
    )
    assert SIZE_COMBINATIONS.left_out not in {each.what for each in tried.skipped}
    more = isomorph.check(
        free,
        free,
        in_process=True,
        options=isomorph.CheckOptions(sizes={"batch": range(1, most + 2)}),
    )
    assert more.coverage.inputs == tried.coverage.inputs
    assert SIZE_COMBINATIONS.left_out in {each.what for each in more.skipped}


def test_sizes_that_are_stated_are_the_ones_tried(free, tmp_path):
    frozen = model(tmp_path / "frozen.onnx", [2, 12])
    report = isomorph.check(
        free, frozen, in_process=True, options=isomorph.CheckOptions(sizes={"batch": (8, 2, 4)})
    )
    assert finding(report).evidence == {
        "smallest": {"batch": 4},
        "wrong": [{"batch": 4}, {"batch": 8}],
    }


def cut(path, length):
    """The first rows of the input, as many as there are or ``length``."""
    text = f"""<ir_version: 8, opset_import: ["" : 17]>
        g (float[rows,4] x) => (float[left,4] y) <int64[1] a = {{0}}, int64[1] b = {{{length}}}> {{
            y = Slice (x, a, b)
        }}"""
    onnx.save(onnx.parser.parse_model(text), path)
    return path


def test_sizes_that_are_stated_are_tried_although_the_usual_ones_differ(tmp_path):
    whole, part = cut(tmp_path / "whole.onnx", 1000), cut(tmp_path / "part.onnx", 1)
    report = isomorph.check(
        whole, part, in_process=True, options=isomorph.CheckOptions(sizes={"rows": (5, 1, 3)})
    )
    assert report.verdict == "divergent"
    assert finding(report).summary.startswith("the models agree at rows=1, and not at rows=3")
    assert finding(report).evidence["smallest"] == {"rows": 3}
    usual = isomorph.check(
        whole, part, in_process=True, options=isomorph.CheckOptions(sizes={"rows": (1,)})
    )
    assert "agree at rows=1, and not at the usual sizes" in finding(usual).summary


def test_what_runs_at_no_size_is_no_matter_of_sizes(free, tmp_path):
    never = model(tmp_path / "never.onnx", [7, 12])
    report = isomorph.check(free, never, in_process=True)
    assert report.verdict == "unknown"
    assert "SHAPE_DEPENDENT" not in {each.code for each in report.findings}


def test_what_runs_only_at_another_size_is(free, tmp_path):
    single = model(tmp_path / "single.onnx", [1, 12])
    found = finding(isomorph.check(free, single, in_process=True))
    assert found.summary.startswith("the models agree at batch=1, and not at batch=3")


def test_free_axes_cost_no_verdict(free, tmp_path):
    other = model(tmp_path / "other.onnx", [-1, 12])
    report = isomorph.check(free, other, in_process=True)
    assert report.verdict == "equivalent"
    assert {each.shape[0] for each in report.inputs} == {1, 2, 3}


def test_a_reference_that_does_not_take_a_size_proves_nothing(free, tmp_path):
    frozen = model(tmp_path / "frozen.onnx", [2, 12])
    report = isomorph.check(frozen, free, in_process=True)
    assert report.verdict == "equivalent"
    assert any("does not accept these sizes" in each.why for each in report.skipped)


def test_an_axis_that_is_fixed_on_one_side_is_not_tried():
    drawn = linted_model(
        node("Relu"), inputs=(spec("x", shape=("batch", "length", 3)),)
    ).model.graph
    assert free_axes(drawn, {"x": (None, 7, 3)}) == {"batch": 0}
    assert other_sizes(drawn, {"x": (None, 7, 3)}, {}, None) == [{"batch": 1}, {"batch": 3}]
    assert other_sizes(drawn, {"x": (None, 7, 3)}, {"batch": 5}, None) == []


def test_an_axis_that_nobody_has_is_wrong_use():
    drawn = linted_model(node("Relu"), inputs=(spec("x", shape=("batch", 3)),)).model.graph
    with pytest.raises(UsageError) as caught:
        other_sizes(drawn, {}, {}, {"length": (1, 2)})
    assert caught.value.code == "UNBOUND_DIM"
