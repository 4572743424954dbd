"""ONNX to OpenVINO's own files, in full precision, and seen to compute what the ONNX file does."""

from __future__ import annotations

from collections.abc import Sequence

from isomorph.converters import _openvino
from isomorph.core.conversion import AS_IS, Order, Workaround
from isomorph.core.lazy import require


class OnnxToOpenvino:
    """``openvino.convert_model`` and ``save_model``, which rounds weights to float16 by default.

    OpenVINO reads ONNX too, so what the files compute is proven in two steps: here they give the
    very bits that OpenVINO gives for the ONNX file, and that is then held against the first model
    by its oracle, in float32 and not in the bfloat16 that some processors choose.
    """

    name = "onnx_to_openvino"
    source, target, suffix = "onnx", "openvino", ".xml"
    widths = frozenset({AS_IS})
    packages = ("openvino",)
    install = "pip install 'isomorph[openvino]'"
    worker = "openvino"
    rank, named = 0, False
    workarounds: tuple[Workaround, ...] = ()
    loses = ("metadata of the ONNX file", "the precision: compile it with the hint f32")
    proven_as = _openvino.PROVEN_AS

    def convert(self, order: Order) -> Sequence[str]:
        """Write .xml and .bin, then run them beside the source."""
        openvino = require("openvino", extra="openvino", needed_for=f"converter {self.name!r}")
        model = openvino.convert_model(order.source)
        return (_openvino.written(openvino, model, order, order.source, "the ONNX file"),)
