"""Two files next to each other, read but not run."""

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from isomorph import api


def test_two_forms_of_one_network(quantized_networks):
    found = api.diff(
        quantized_networks / "qdq.onnx", quantized_networks / "qop.onnx", in_process=True
    )
    pairs = {
        pair.candidate.tensor: pair.reference.tensor
        for pair in found.quantization
        if pair.reference is not None and pair.candidate is not None
    }
    assert pairs["w2_quantized"] == "w2_quantized"
    assert pairs["s_quantized"] == "s_QuantizeLinear_Output"
    assert pairs["f_quantized"] == "f_QuantizeLinear_Output"
    assert not any(pair.changed for pair in found.quantization)
    assert [pair.changed for pair in (*found.inputs, *found.outputs)] == [(), ()]


def test_one_side_without_quantization(quantized_networks):
    found = api.diff(
        quantized_networks / "net.onnx", quantized_networks / "dynamic.onnx", in_process=True
    )
    assert {pair.candidate.tensor for pair in found.quantization} == {
        "w1_quantized", "w2_quantized", "fc_quantized",
    }  # fmt: skip
    assert all(pair.reference is None for pair in found.quantization)
    assert {pair.domain for pair in found.opsets} >= {"ai.onnx"}


def test_a_changed_scale_and_a_renamed_output_are_listed(quantized_networks):
    model = onnx.load(quantized_networks / "qop.onnx")
    scale = next(each for each in model.graph.initializer if each.name == "w1_scale")
    values = numpy_helper.to_array(scale) * np.float32(1.5)
    scale.CopyFrom(numpy_helper.from_array(values, "w1_scale"))
    model.graph.output[0].name = model.graph.node[-1].output[0] = "z"
    found = api.diff(quantized_networks / "qop.onnx", model, in_process=True)
    moved = [pair for pair in found.quantization if pair.changed]
    assert [(pair.candidate.tensor, pair.changed) for pair in moved] == [
        ("w1_quantized", ("scale",))
    ]
    assert moved[0].candidate.scale[0] == pytest.approx(1.5 * moved[0].reference.scale[0])
    assert found.outputs[0].changed == ("name",)
