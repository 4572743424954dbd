"""ONNX with int8 weights by ONNX Runtime; activations are quantized as they come."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from isomorph.converters._ort_quantize import WORKAROUNDS, prepared, weight_options
from isomorph.core.conversion import Order
from isomorph.core.converter_abilities import ReleaseNeeds
from isomorph.core.lazy import require


class OnnxToDynamic:
    """``quantize_dynamic``: no samples are needed, and only products of matrices become narrow."""

    name = "onnx_to_dynamic"
    source, target, suffix = "onnx", "onnx", ".onnx"
    widths = frozenset({"dynamic"})
    packages = ("onnx", "onnxruntime")
    install = "pip install isomorph"
    worker = "onnx"
    rank, named = 0, False
    workarounds = WORKAROUNDS
    loses: tuple[str, ...] = ()
    releases = MappingProxyType({
        "onnxruntime": ReleaseNeeds(
            statement="import onnx; from onnxruntime.quantization import quantize_dynamic",
            beside=("ml_dtypes", "onnx", "sympy"),
        ),
    })  # fmt: skip

    def convert(self, order: Order) -> Sequence[str]:
        """Write the model."""
        require("onnxruntime", extra="all", needed_for=f"converter {self.name!r}")
        from onnxruntime.quantization import quantize_dynamic

        quantize_dynamic(prepared(order), order.target, **weight_options(order))
        return ()
