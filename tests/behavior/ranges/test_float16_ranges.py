"""A residual stream that leaves float16 is found with an input; what is proven safe is."""

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from onnx import TensorProto, helper

import isomorph
from isomorph.core.lint import Severity
from isomorph.core.ranges import OpenReason, RangeStatus, steepest
from isomorph.reporters.ranges_text import as_text
from residual_stream import Transformer

FACTOR = 7e4
"""The layer overflows on few inputs: none of the first ones that are drawn."""


@pytest.mark.parametrize("suffix", ["onnx", "pt2"])
def test_the_layer_that_overflows_is_named_with_the_input(transformers, suffix):
    model = transformers(FACTOR, suffix)
    found = isomorph.ranges(model, ranges={"x": (-2.0, 2.0)}, to="float16", in_process=True)
    assert found.exit_code == 1
    (shown,) = found.overflows
    down = [each for each in found.tensors if each.status is RangeStatus.OVERFLOW]
    assert shown.tensor == down[0].name
    assert ("blocks.1/down" in shown.tensor) if suffix == "onnx" else shown.op == "Gemm"
    assert abs(shown.value) > 65504
    assert abs(shown.run_value) > 65504
    x = shown.inputs["x"]
    assert x.min() >= -2.0
    assert x.max() <= 2.0
    again = isomorph.run(model, inputs=shown.inputs, fetch=[shown.tensor], in_process=True)
    assert np.abs(again.tensors[shown.tensor]).max() > 65504
    if suffix == "onnx":
        assert np.isinf(shown.narrow_value)


def test_headroom_is_that_of_the_given_samples(transformers):
    model, x = transformers(FACTOR), np.full((1, 3, 8), 0.5, np.float32)
    found = isomorph.ranges(
        model, ranges={"x": (-2.0, 2.0)}, inputs={"x": x}, to="float16", in_process=True
    )
    read = next(each for each in found.tensors if each.name == "x")
    assert read.data_magnitude == 0.5
    assert read.headroom == pytest.approx(np.log2(65504 / 0.5))
    assert read.measured_upper == 2.0
    text = as_text(found)
    assert "headroom" in text
    assert "2^17.0" in text
    without = isomorph.ranges(model, ranges={"x": (-2.0, 2.0)}, to="float16", in_process=True)
    assert {each.headroom for each in without.tensors} == {None}
    assert "headroom" not in as_text(without)


def test_the_first_tensor_beyond_the_type_on_the_samples_is_shown_first(transformers):
    model = transformers(3e6)
    x = np.random.default_rng(0).uniform(-0.5, 0.5, (1, 3, 8)).astype(np.float32)
    found = isomorph.ranges(
        model, ranges={"x": (-2.0, 2.0)}, inputs={"x": x}, to="float16", in_process=True
    )
    (shown,) = found.overflows
    assert shown.given
    np.testing.assert_array_equal(shown.inputs["x"], x)
    own = isomorph.run(model, inputs={"x": x}, fetch=[shown.tensor], in_process=True)
    largest = np.abs(own.tensors[shown.tensor]).max()
    assert abs(shown.value) == pytest.approx(largest, rel=1e-5)
    first = next(each for each in found.tensors if each.headroom < 0)
    assert first.name == shown.tensor
    lines = as_text(found).splitlines()
    rooms = [line.split() for line in lines if "safe" in line and "2^" in line]
    powers = [float(word[2:]) for words in rooms for word in words if word.startswith("2^")]
    assert powers == sorted(powers)
    assert any(line.startswith("first beyond float16 on the given samples") for line in lines)


def test_an_overflow_on_no_sample_is_that_of_a_search(transformers):
    found = isomorph.ranges(
        transformers(FACTOR),
        ranges={"x": (-2.0, 2.0)},
        inputs={"x": np.full((1, 3, 8), 0.5, np.float32)},
        to="float16",
        in_process=True,
    )
    assert not found.overflows[0].given


def test_an_overflow_says_where_its_numbers_grow(transformers):
    found = isomorph.ranges(
        transformers(FACTOR), ranges={"x": (-2.0, 2.0)}, to="float16", in_process=True
    )
    assert found.trail[0].tensor == found.overflows[0].tensor
    assert "blocks.1/down" in steepest(found.trail).node
    assert found.trail[-1].operand == "x"
    assert "most at" in as_text(found)


def test_a_network_that_is_proven_safe_is_finite_in_float16(transformers):
    model = transformers(400.0)
    found = isomorph.ranges(model, ranges={"x": (-2.0, 2.0)}, to="float16", in_process=True)
    assert (found.exit_code, found.overflows) == (0, ())
    assert max(each.upper for each in found.tensors) > 3000
    # PyTorch stores every result in float16; ONNX Runtime joins nodes that it computes in float32.
    narrow, seen = Transformer(400.0).half().eval(), []
    for module in narrow.modules():
        module.register_forward_hook(lambda *given: seen.append(torch.isfinite(given[2]).all()))
    with torch.no_grad():
        narrow(torch.rand(1000, 3, 8).mul(4).sub(2).half())
    assert len(seen) > 10
    assert all(seen)


def test_bounds_that_decide_nothing_are_open(transformers):
    # The bound is wider than the type, and no input comes near it.
    model = transformers(1.2e4)
    found = isomorph.ranges(model, ranges={"x": (-2.0, 2.0)}, to="float16", in_process=True)
    assert found.exit_code == 3
    wide = [each for each in found.tensors if each.status is RangeStatus.OPEN]
    assert wide[0].reason is OpenReason.TOO_WIDE
    # What follows fits by its own bound, and is NaN if that one is an infinity.
    assert {each.reason for each in wide} == {OpenReason.TOO_WIDE, OpenReason.BEHIND_OVERFLOW}
    assert "more would be safe if these were" in as_text(found)
    remarks = isomorph.lint(model, to="float16", ranges={"x": (-2.0, 2.0)}).remarks
    named = {each.tensor for each in remarks if each.code == "ISO121"}
    assert named == {each.name for each in wide if each.reason is OpenReason.TOO_WIDE}


def test_lint_reports_tensors_beyond_the_range(transformers):
    model = transformers(FACTOR)
    found = isomorph.lint(model, to="float16", ranges={"x": (-2.0, 2.0)})
    remarks = [each for each in found.remarks if each.code == "ISO121"]
    assert remarks
    assert remarks[0].severity is Severity.ERROR
    assert "blocks.1/down" in str(remarks[0].node)
    assert not [
        each for each in isomorph.lint(model, to="float16").remarks if each.code == "ISO121"
    ]


def test_a_conversion_keeps_in_float32_what_is_not_safe(tmp_path):
    nodes = [
        helper.make_node("Mul", ["x", "factor"], ["wide"], name="grow"),
        helper.make_node("Tanh", ["wide"], ["small"], name="tanh"),
        helper.make_node("Mul", ["wide", "share"], ["half"], name="shrink"),
        helper.make_node("Add", ["small", "half"], ["y"], name="add"),
    ]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in ("x", "y")]
    stored = [
        helper.make_tensor(name, TensorProto.FLOAT, [1], [value])
        for name, value in (("factor", 3e4), ("share", 1e-4))
    ]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], stored)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(made, tmp_path / "m.onnx")
    x = np.array([-3.0, 0.1, 1.0, 3.0], np.float32)
    done = isomorph.convert(
        tmp_path / "m.onnx", tmp_path / "narrow.onnx", quantize="float16",
        ranges={"x": (-3.0, 3.0)}, inputs={"x": x},
    )  # fmt: skip
    assert done.exit_code == 0
    assert any(note.endswith("within float16: grow, tanh, shrink") for note in done.chosen[0].notes)
    assert "--range x=-3.0:3.0" in done.repeat
    # What is kept in float32 reads it as it was computed, and not after a cast to float16 and back.
    nodes = {each.name: each for each in onnx.load(tmp_path / "narrow.onnx").graph.node}
    (wide,) = nodes["grow"].output
    assert nodes["shrink"].input[0] == nodes["tanh"].input[0] == wide
    assert nodes["add"].op_type == "Add"
    session = onnxruntime.InferenceSession(
        tmp_path / "narrow.onnx", providers=["CPUExecutionProvider"]
    )
    assert np.isfinite(session.run(None, {"x": x})[0]).all()
