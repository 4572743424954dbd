"""ONNX to OpenVINO's own files, in full precision or with weights in float16."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from isomorph.converters import _openvino
from isomorph.core.conversion import Order, Workaround
from isomorph.core.converter_abilities import ReleaseNeeds
from isomorph.core.lazy import require


class OnnxToOpenvino:
    """``openvino.convert_model`` and ``save_model``."""

    name = "onnx_to_openvino"
    source, target, suffix = "onnx", "openvino", ".xml"
    widths = _openvino.WIDTHS
    packages = ("openvino",)
    install = _openvino.INSTALL
    worker = "openvino"
    rank, named = 0, False
    workarounds: tuple[Workaround, ...] = ()
    loses = ("metadata of the ONNX file", *_openvino.LOSES)
    proven_as = _openvino.PROVEN_AS
    releases = MappingProxyType({"openvino": ReleaseNeeds(statement="import openvino")})

    def convert(self, order: Order) -> Sequence[str]:
        """Write .xml and .bin."""
        openvino = require("openvino", extra="openvino", needed_for=f"converter {self.name!r}")
        return (_openvino.save(openvino, openvino.convert_model(order.source), order),)
