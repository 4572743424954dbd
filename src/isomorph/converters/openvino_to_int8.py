"""OpenVINO in int8 by NNCF: quantizers around operators, or weights alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from isomorph.converters import _openvino
from isomorph.core.conversion import Order, Workaround
from isomorph.core.lazy import require


class OpenvinoToInt8:
    """``nncf.quantize`` with the samples as calibration; ``dynamic``: ``nncf.compress_weights``."""

    name = "openvino_to_int8"
    source, target, suffix = "openvino", "openvino", ".xml"
    widths = frozenset({"int8", "dynamic"})
    packages = ("openvino", "nncf")
    install = "pip install 'isomorph[openvino]' && pip install --no-deps nncf"
    worker = "openvino"
    rank, named = 0, False
    workarounds = (
        Workaround(
            name="as a transformer",
            description="quantized by the scheme that NNCF has for transformers",
            options={"model_type": "transformer"},
            for_divergent=True,
        ),
    )
    loses = ("values outside the ranges seen in calibration",)
    proven_as = _openvino.PROVEN_AS

    def convert(self, order: Order) -> Sequence[str]:
        """Calibrate on every sample, then write."""
        openvino = require("openvino", extra="openvino", needed_for=f"converter {self.name!r}")
        nncf = require("nncf", extra="openvino", needed_for=f"converter {self.name!r}")
        model = openvino.Core().read_model(order.source)
        if order.width == "dynamic":
            narrow, note = nncf.compress_weights(model), "weights in 8 bits, by channels"
        else:
            samples = [_sample(path, model) for path in order.samples]
            options: dict[str, Any] = {"subset_size": len(samples)}
            if order.options.get("model_type") == "transformer":
                options["model_type"] = nncf.ModelType.TRANSFORMER
            narrow = nncf.quantize(model, nncf.Dataset(samples), **options)
            note = f"calibrated on {len(samples)} samples"
        openvino.save_model(narrow, order.target, compress_to_fp16=False)
        return (note,)


def _sample(path: str, model: Any) -> list[Any]:  # noqa: ANN401
    """The arrays of a sample in the order of the model's inputs."""
    import numpy as np

    with np.load(path, allow_pickle=False) as arrays:
        return [
            next(arrays[name] for name in arrays.files if name in port.get_names())
            for port in model.inputs
        ]
