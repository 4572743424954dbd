"""ONNX to ONNX of another opset, up or down, by ONNX's own version converter."""

from __future__ import annotations

from collections.abc import Sequence

from isomorph.core.conversion import AS_IS, Cure, Order
from isomorph.core.errors import UsageError
from isomorph.core.lazy import require


class OnnxOpset:
    """``onnx.version_converter`` to the opset that ``--opset`` states."""

    name = "onnx_opset"
    source, target, suffix = "onnx", "onnx", ".onnx"
    widths = frozenset({AS_IS})
    packages = ("onnx",)
    install = "pip install isomorph"
    worker = "onnx"
    rank, named = 0, True
    cures: tuple[Cure, ...] = ()
    loses: tuple[str, ...] = ()

    def convert(self, order: Order) -> Sequence[str]:
        """Write the model at the wanted opset."""
        onnx = require("onnx", extra="all", needed_for=f"converter {self.name!r}")
        from onnx import version_converter

        wanted = order.options.get("opset")
        if wanted is None:
            raise UsageError("BAD_OPTION", "no opset is stated", fix="add --opset 17, say")
        model = onnx.load(order.source)
        onnx.save(version_converter.convert_version(model, int(wanted)), order.target)
        return ()
