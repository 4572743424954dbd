"""Faults of quantized TFLite models, whose grids stand beside their tensors, by their cause."""

from __future__ import annotations

import numpy as np
import pytest

import isomorph
from tflite_building import Building

RANDOM = np.random.default_rng(6)
FIRST = RANDOM.standard_normal((24, 16)).astype(np.float32)
SECOND = RANDOM.standard_normal((12, 24)).astype(np.float32)
BIAS = RANDOM.standard_normal(24).astype(np.float32)
X = RANDOM.standard_normal((6, 16)).astype(np.float32)
HIDDEN = np.maximum(X @ FIRST.T + BIAS, 0.0)
RELU = 1


def _step(values):
    return float(np.abs(values).max() / 127.0)


def _model(
    path, *, width="float32", hidden_scale=1.0, weight=FIRST, weight_scale=1.0, last_scale=1.0
):
    """Two layers in floats, with int8 weights, or in int8 throughout.

    The factors make a scale another number than it was when the integers were made.
    """
    building = Building()
    graph = building.graph()
    whole = width == "int8"

    def stored(name, value, factor=1.0):
        if width == "float32":
            return graph.tensor(name, value.shape, value=value)
        step = _step(value)
        integers = np.rint(value / step)
        return graph.tensor(name, value.shape, "int8", integers, scale=[step * factor])

    def flowing(name, values, factor=1.0):
        if not whole:
            return graph.tensor(name, values.shape)
        return graph.tensor(name, values.shape, "int8", scale=[_step(values) * factor])

    x, y = graph.tensor("x", X.shape), graph.tensor("y", (6, 12))
    first, second = stored("w1", weight, weight_scale), stored("w2", SECOND)
    bias = graph.tensor("b", BIAS.shape, value=BIAS)
    if whole:
        step = _step(X) * _step(FIRST)
        bias = graph.tensor("b8", BIAS.shape, "int32", np.rint(BIAS / step), scale=[step])
    hidden, last = flowing("h", HIDDEN, hidden_scale), flowing("o", HIDDEN @ SECOND.T, last_scale)
    start = flowing("x8", X) if whole else x
    if whole:
        graph.op("QUANTIZE", [x], [start], "Quantize")
    for inputs, made, fused in (
        ([start, first, bias], hidden, RELU),
        ([hidden, second, -1], last if whole else y, 0),
    ):
        graph.op("FULLY_CONNECTED", inputs, [made], "FullyConnected", version=4,
                 fusedActivationFunction=fused)  # fmt: skip
    if whole:
        graph.op("DEQUANTIZE", [last], [y], "Dequantize")
    graph.ends([x], [y])
    path.write_bytes(building.data())
    return path


def _checked(tmp_path, **fault):
    reference = _model(tmp_path / "reference.tflite")
    candidate = _model(tmp_path / "candidate.tflite", **fault)
    return isomorph.check(reference, candidate, inputs={"x": X}, in_process=True)


@pytest.mark.parametrize("width", ["weights", "int8"])
def test_without_a_fault_it_loses_what_its_width_intends(tmp_path, width):
    assert _checked(tmp_path, width=width).verdict == "degraded"


def test_a_range_that_is_too_narrow_is_a_matter_of_quantization(tmp_path):
    report = _checked(tmp_path, width="int8", hidden_scale=0.25)
    assert report.verdict == "divergent"
    assert report.findings[0].cause == "quantization"
    assert "CONNECTED" in report.findings[0].node


def test_values_that_sit_at_the_ends_of_their_grid_are_cut_off(tmp_path):
    first = _checked(tmp_path, width="int8", last_scale=0.5).findings[0]
    assert (first.node, first.cause) == ("FULLY_CONNECTED:2", "quantization")
    assert "clips" in first.summary
    assert "Is the range of the quantizer too narrow?" in [e.question for e in first.experiments]


@pytest.mark.parametrize("width", ["weights", "int8"])
def test_a_scale_that_is_not_the_weights_own(tmp_path, width):
    report = _checked(tmp_path, width=width, weight_scale=1.4)
    first = report.findings[0]
    assert (report.verdict, first.cause) == ("divergent", "quantization")
    assert "times" in first.summary
    assert first.node.startswith("FULLY_CONNECTED:")


@pytest.mark.parametrize("width", ["weights", "int8"])
def test_integers_in_another_order_are_a_wrong_weight(tmp_path, width):
    report = _checked(tmp_path, width=width, weight=np.roll(FIRST, 1, axis=0))
    assert report.verdict == "divergent"
    assert report.findings[0].cause in {"weight", "layout"}
