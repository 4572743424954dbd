"""ONNX to TFLite by onnx2tf, which goes by way of Keras."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from isomorph.converters import _onnx2tf
from isomorph.core.conversion import AS_IS, Order
from isomorph.core.errors import RuntimeFailedError

_ENDINGS = {AS_IS: "_float32", "float16": "_float16", "dynamic": "_dynamic_range_quant"}


class OnnxToTflite(_onnx2tf.Onnx2tf):
    """onnx2tf; integers that need calibration are left to TensorFlow's own converter."""

    name = "onnx_to_tflite"
    target, suffix = "tflite", ".tflite"
    widths = frozenset({AS_IS, "float16", "dynamic"})

    def convert(self, order: Order) -> Sequence[str]:
        """Let it write all it writes, and keep the file of the wanted width."""
        folder = Path(order.target).with_suffix("")
        quantized = order.width == "dynamic"
        notes = _onnx2tf.converted(order, folder, output_dynamic_range_quantized_tflite=quantized)
        ending = _ENDINGS[order.width]
        written = sorted(folder.glob(f"*{ending}.tflite"))
        if not written:
            raise RuntimeFailedError(
                "CONVERTER_FAILED",
                f"onnx2tf wrote no file that ends in {ending}.tflite",
                why=f"it wrote: {', '.join(sorted(p.name for p in folder.iterdir())) or 'nothing'}",
            )
        written[0].replace(order.target)
        return notes
