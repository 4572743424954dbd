"""ONNX to a TensorFlow SavedModel by onnx2tf."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from isomorph.converters import _onnx2tf
from isomorph.core.conversion import AS_IS, Order
from isomorph.core.errors import RuntimeFailedError


class OnnxToTensorflow(_onnx2tf.Onnx2tf):
    """onnx2tf; the SavedModel's outputs are a dict, so their order is lost and their names stay."""

    name = "onnx_to_tensorflow"
    target, suffix = "tensorflow", ""
    widths = frozenset({AS_IS})

    def convert(self, order: Order) -> Sequence[str]:
        """Write the folder; onnx2tf logs why there is no SavedModel in it, and ends well."""
        notes = _onnx2tf.converted(order, Path(order.target))
        if not Path(order.target, "saved_model.pb").is_file():
            raise RuntimeFailedError(
                "CONVERTER_FAILED",
                "onnx2tf ended without an error and wrote no SavedModel",
                why="see its log; names that TensorFlow does not accept cause this",
            )
        return notes
