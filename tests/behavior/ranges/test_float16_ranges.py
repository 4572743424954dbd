"""A residual stream that leaves float16 is found with an input; what is proven safe is."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnxruntime.transformers.float16 import convert_float_to_float16

import isomorph
from isomorph.core.lint import Severity
from isomorph.core.ranges import OpenReason, RangeStatus

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


def test_a_network_that_is_proven_safe_is_finite_in_float16(transformers, tmp_path):
    model = transformers(400.0)
    found = isomorph.ranges(model, ranges={"x": (-2.0, 2.0)}, to="float16", in_process=True)
    assert (found.exit_code, found.overflows) == (0, ())
    assert max(each.upper for each in found.tensors) > 3000
    narrow = convert_float_to_float16(onnx.load(model), keep_io_types=True)
    path = tmp_path / "narrow.onnx"
    onnx.save(narrow, path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    random = np.random.default_rng(0)
    for _ in range(500):
        x = random.uniform(-2, 2, (1, 3, 8)).astype(np.float32)
        assert np.isfinite(session.run(None, {"x": x})[0]).all()


def test_bounds_that_decide_nothing_are_open(transformers):
    # The bound is wider than the type, and no input comes near it.
    model = transformers(1.2e4)
    found = isomorph.ranges(model, ranges={"x": (-2.0, 2.0)}, to="float16", in_process=True)
    assert found.exit_code == 3
    wide = [each for each in found.tensors if each.status is RangeStatus.OPEN]
    assert {each.reason for each in wide} == {OpenReason.TOO_WIDE}


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


def test_a_conversion_keeps_in_float32_what_is_not_safe(transformers, tmp_path):
    model, target = transformers(FACTOR), tmp_path / "narrow.onnx"
    shown = isomorph.ranges(model, ranges={"x": (-2.0, 2.0)}, to="float16", in_process=True)
    feeds = shown.overflows[0].inputs
    done = isomorph.convert(
        model, target, quantize="float16", ranges={"x": (-2.0, 2.0)}, inputs=feeds
    )
    assert done.exit_code == 0
    assert any("blocks.1/down" in note for note in done.chosen[0].notes)
    session = onnxruntime.InferenceSession(target, providers=["CPUExecutionProvider"])
    assert np.isfinite(session.run(None, dict(feeds))[0]).all()
    types = {each.data_type for each in onnx.load(target).graph.initializer}
    assert onnx.TensorProto.FLOAT16 in types
    assert onnx.TensorProto.FLOAT in types
