"""ONNX in float16 by ONNX Runtime's converter; inputs and outputs keep their types."""

from __future__ import annotations

from collections.abc import Sequence

from isomorph.core.conversion import Order, Workaround
from isomorph.core.lazy import require

_QUANTIZERS = ("QuantizeLinear", "DequantizeLinear")
"""Their scales must be float32 before opset 19, and the converter narrows them all the same."""


class OnnxToFloat16:
    """``onnxruntime.transformers.float16``; it has written invalid files, so they are loaded."""

    name = "onnx_to_float16"
    source, target, suffix = "onnx", "onnx", ".onnx"
    widths = frozenset({"float16"})
    packages = ("onnx", "onnxruntime")
    install = "pip install isomorph"
    worker = "onnx"
    rank, named = 0, False
    workarounds = (
        Workaround(
            name="without shapes",
            description="converted without inferring shapes first",
            options={"infer": "no"},
        ),
        Workaround(
            name="quantizers as they are",
            description="quantized constants and their scales stay as they are",
            options={"quantizers": "keep"},
        ),
    )
    loses = ("values beyond ±65504, and small ones below 6e-8",)

    def convert(self, order: Order) -> Sequence[str]:
        """Write the narrow model."""
        onnx = require("onnx", extra="all", needed_for=f"converter {self.name!r}")
        require("onnxruntime", extra="all", needed_for=f"converter {self.name!r}")
        from onnxruntime.transformers.float16 import (
            DEFAULT_OP_BLOCK_LIST,
            convert_float_to_float16,
        )

        kept = _QUANTIZERS if order.options.get("quantizers") == "keep" else ()
        narrow = convert_float_to_float16(
            onnx.load(order.source),
            keep_io_types=True,
            disable_shape_infer=order.options.get("infer") == "no",
            op_block_list=[*DEFAULT_OP_BLOCK_LIST, *kept],
        )
        onnx.save(narrow, order.target)
        return ("inputs and outputs stay in float32",)
