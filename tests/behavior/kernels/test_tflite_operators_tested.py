"""No kernel of a TFLite operator goes untested."""

from tests.behavior.kernels import (
    test_tflite_arithmetic,
    test_tflite_data_movement,
    test_tflite_layers,
    test_tflite_quantized,
)
from tests.unit.kernels.tflite import test_stablehlo

from isomorph.kernels import registry


def test_every_kernel_of_ours_is_tested_somewhere():
    modules = (test_tflite_arithmetic, test_tflite_layers, test_tflite_data_movement)
    tested = {make().op for module in modules for make in module.CASES.values()}
    tested |= {make().op for _, make in test_tflite_quantized.CASES.values()}
    tested |= {f"STABLEHLO_{word}" for word in test_stablehlo.DEFINED} | {"RFFT2D"}
    # A sparse constant is written out before the oracle sees it: DENSIFY hands it on.
    ours = {op for domain, op in registry.known() if domain == "tflite"} - {"DENSIFY"}
    assert ours - tested == set()
    assert len(ours) > 150
