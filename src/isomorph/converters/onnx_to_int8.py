"""ONNX in int8 by ONNX Runtime: QuantizeLinear and DequantizeLinear around every operator."""

from __future__ import annotations

from collections.abc import Sequence

from isomorph.converters._ort_quantize import WORKAROUNDS, Samples, prepared, weight_options
from isomorph.core.conversion import Order
from isomorph.core.lazy import require


class OnnxToInt8:
    """``quantize_static`` with the samples as calibration; exact products on every CPU."""

    name = "onnx_to_int8"
    source, target, suffix = "onnx", "onnx", ".onnx"
    widths = frozenset({"int8"})
    packages = ("onnx", "onnxruntime")
    install = "pip install isomorph"
    worker = "onnx"
    rank, named = 0, False
    workarounds = WORKAROUNDS
    loses = ("values outside the ranges seen in calibration",)

    def convert(self, order: Order) -> Sequence[str]:
        """Calibrate on every sample, then write."""
        require("onnxruntime", extra="all", needed_for=f"converter {self.name!r}")
        from onnxruntime.quantization import QuantFormat, QuantType, quantize_static

        quantize_static(
            prepared(order),
            order.target,
            Samples(order),
            quant_format=QuantFormat.QDQ,
            activation_type=QuantType.QUInt8,
            **weight_options(order),
        )
        return (f"calibrated on {len(order.samples)} samples",)
