"""TFLite to ONNX by tf2onnx."""

from __future__ import annotations

from collections.abc import Sequence

from isomorph.converters import _tf2onnx
from isomorph.converters._tf2onnx import NEWEST_OPSET, failing_loudly, handled, leaving_out
from isomorph.core.conversion import AS_IS, Order
from isomorph.core.lazy import require


class TfliteToOnnx:
    """tf2onnx on the flatbuffer; it drops biases of some LSTMs without a word, so it is checked."""

    name = "tflite_to_onnx"
    source, target, suffix = "tflite", "onnx", ".onnx"
    widths = frozenset({AS_IS})
    packages, install = _tf2onnx.PACKAGES, _tf2onnx.INSTALL
    worker = "tensorflow"
    rank, named = 0, False
    workarounds = _tf2onnx.WORKAROUNDS
    loses = ("metadata and signatures of the flatbuffer",)
    takes_opset = True
    releases = _tf2onnx.RELEASES

    def passes(self) -> Sequence[str]:
        """The optimizers of tf2onnx."""
        require("tf2onnx", extra="tensorflow", needed_for=f"converter {self.name!r}")
        return _tf2onnx.optimizers()

    def abilities(self) -> dict[str, object]:
        """Operators with a handler."""
        require("tf2onnx", extra="tensorflow", needed_for=f"converter {self.name!r}")
        return {"operators": handled(tflite=True)}

    def convert(self, order: Order) -> Sequence[str]:
        """Convert, and fail where tf2onnx only logs that it failed."""
        require("tf2onnx", extra="tensorflow", needed_for=f"converter {self.name!r}")
        from tf2onnx import convert

        with failing_loudly(), leaving_out(order.options):
            convert.from_tflite(
                order.source,
                opset=int(order.options.get("opset", NEWEST_OPSET)),
                output_path=order.target,
            )
        return ()
