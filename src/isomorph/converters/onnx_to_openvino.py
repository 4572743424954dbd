"""ONNX to OpenVINO's own files, in full precision, and seen to compute what the ONNX file does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from isomorph.core.conversion import AS_IS, Cure, Order
from isomorph.core.errors import RuntimeFailedError
from isomorph.core.lazy import require

_FULL = {"INFERENCE_PRECISION_HINT": "f32"}


class OnnxToOpenvino:
    """``openvino.convert_model`` and ``save_model``, which rounds weights to float16 unless told.

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
    cures: tuple[Cure, ...] = ()
    loses = ("metadata of the ONNX file", "the precision: compile it with the hint f32")
    proven_as = ("openvino", {"precision": "f32"})
    """Its source stands for its result, run in this runtime with these settings."""

    def convert(self, order: Order) -> Sequence[str]:
        """Write .xml and .bin, then run them beside the source."""
        openvino = require("openvino", extra="openvino", needed_for=f"converter {self.name!r}")
        openvino.save_model(
            openvino.convert_model(order.source), order.target, compress_to_fp16=False
        )
        core = openvino.Core()
        names = [name for name, _ in _inputs(order)]
        feeds = [array for _, array in _inputs(order)]
        before, after = (_run(core, path, names, feeds) for path in (order.source, order.target))
        if [each.tobytes() for each in before] != [each.tobytes() for each in after]:
            raise RuntimeFailedError(
                "CONVERTER_FAILED",
                "OpenVINO's files compute something else than the ONNX file in OpenVINO",
                fix="deploy the ONNX file itself: OpenVINO reads it",
            )
        return ("the same bits as the ONNX file in OpenVINO, both with the precision hint f32",)


def _inputs(order: Order) -> list[tuple[str, Any]]:
    import numpy as np

    with np.load(order.example, allow_pickle=False) as arrays:
        return [(name, arrays[name]) for name in arrays.files]


def _run(core: Any, path: str, names: Sequence[str], feeds: Sequence[Any]) -> list[Any]:  # noqa: ANN401
    compiled = core.compile_model(core.read_model(path), "CPU", _FULL)
    results = compiled(dict(zip(names, feeds, strict=True)))
    return [results[output] for output in compiled.outputs]
