"""ONNX to a TensorFlow SavedModel by onnx2tf."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from isomorph.converters import _onnx2tf
from isomorph.core.conversion import AS_IS, Cure, Order


class OnnxToTensorflow:
    """onnx2tf; the SavedModel's outputs are a dict, so their order is lost and their names stay."""

    name = "onnx_to_tensorflow"
    source, target, suffix = "onnx", "tensorflow", ""
    widths = frozenset({AS_IS})
    packages, install = _onnx2tf.PACKAGES, _onnx2tf.INSTALL
    worker = "onnx2tf"
    rank, named = 0, False
    cures = (
        Cure(name="fixed batch", told="the batch is fixed at 1", options={"batch": "1"}),
        Cure(name="not simplified", told="without its simplifier", options={"simplify": "no"}),
    )
    loses = ("metadata of the ONNX file", "the names of nodes", "the order of the outputs")

    def abilities(self) -> dict[str, object]:
        """Operators with a module of their own."""
        return {"operators": _onnx2tf.operators()}

    def convert(self, order: Order) -> Sequence[str]:
        """Write the folder."""
        return _onnx2tf.converted(order, Path(order.target))
