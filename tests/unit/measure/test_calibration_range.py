"""Inputs that lie beyond their grid are unlike the samples of the calibration."""

import numpy as np
import pytest

from isomorph.core.model import Graph, Node, Quantization, TensorSpec
from isomorph.measure.calibration_range import beyond_calibration

GRID = {"dtype": "int8", "scale": (0.1,), "zero_point": (0,)}  # −12.8 … 12.7


def graph(*inputs, quantized=("x",)):
    nodes = [
        Node(name=f"q_{name}", op="QuantizeLinear", native_op="QuantizeLinear",
             inputs=(name, "s", "z"), outputs=(f"{name}_q",))
        for name in quantized
    ]  # fmt: skip
    return Graph(
        name="g",
        inputs=tuple(TensorSpec(name=name, dtype="float32", shape=(4,)) for name in inputs),
        outputs=(),
        nodes=tuple(nodes),
        tensors={},
        constants={},
        quantization=tuple(Quantization(tensor=f"{name}_q", **GRID) for name in quantized),
    )


@pytest.mark.parametrize(("beyond", "unlike"), [(0, False), (8, False), (40, True)])
def test_inputs_are_unlike_the_samples_where_chance_does_not_cut_off_as_many(beyond, unlike):
    values = np.linspace(-12.0, 12.0, 200, dtype=np.float32)
    values[:beyond] = 30.0
    assert beyond_calibration(graph("x"), {"x": values}) == unlike
    assert not beyond_calibration(graph("x", quantized=()), {"x": values})
