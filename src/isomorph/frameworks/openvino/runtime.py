"""OpenVINO's CPU plugin on ONNX models and exported PyTorch programs, as deployed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from isomorph.core.execution import Switch
from isomorph.core.lazy import require
from isomorph.core.settings import chosen

if TYPE_CHECKING:
    from isomorph.core.extraction import ScriptSource
    from isomorph.core.model import Model
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Environment

_NARROW = {"bf16": "bfloat16", "f16": "float16"}
_VALUES = {
    "precision": ("default", "f32", "bf16", "f16"),
    "mode": ("default", "performance", "accuracy"),
    "dynamic_quantization": ("default", "off"),
}

_EXCHANGE = "import numpy, openvino; openvino.Tensor(numpy.zeros(2)).data.copy()"
"""What shows that a release works with the NumPy beside it."""


class OpenvinoRuntime:
    """OpenVINO on the CPU, which may compute in bfloat16 where the processor has it.

    Its graph optimizer cannot be switched off, so it runs no graph as written; a single node is
    compiled by itself whenever a tensor inside is asked for. A program of PyTorch goes through
    OpenVINO's own front end and is run whole.
    """

    name = "openvino"
    extra: str | None = "openvino"
    worker = "openvino"
    packages: Mapping[str, str] = {"openvino": _EXCHANGE}
    settings: Mapping[str, str] = {
        "precision": "default",
        "mode": "default",
        "dynamic_quantization": "default",
        "threads": "",
    }
    plain: Mapping[str, str] = {}
    switches = (
        Switch(name="full precision", settings={"precision": "f32"}, kind="precision"),
        Switch(
            name="products of compressed weights without quantized activations",
            settings={"dynamic_quantization": "off"},
            kind="kernel",
        ),
    )

    def requested_dtype(self, settings: Mapping[str, str]) -> str:
        """The type of the precision hint, where that is narrower than float32."""
        return _NARROW.get(settings["precision"], "")

    def script_source(self, model: Model, settings: Mapping[str, str]) -> ScriptSource | None:
        """How a script runs a model of a file that OpenVINO itself reads."""
        if model.framework == "pytorch":
            return None
        from isomorph.frameworks.openvino.compile import configuration
        from isomorph.frameworks.openvino.script_source import script_source

        return script_source(configuration({**self.settings, **settings}))

    def accepts(self, model: Model) -> bool:
        """OpenVINO's own models, ONNX models and PyTorch programs."""
        return model.framework in {"openvino", "onnx", "pytorch"}

    def open(self, model: Model, environment: Environment) -> Session:
        """Compile the whole model; pieces of it when a run first needs them."""
        words = {**self.settings, **environment.settings}
        for key, known in _VALUES.items():
            chosen(self.name, words, key, known)
        openvino = require("openvino", extra="openvino", needed_for="runtime 'openvino'")
        if model.framework == "openvino":
            from isomorph.frameworks.openvino.ir_session import OpenvinoIrSession

            return OpenvinoIrSession(model, environment, words, openvino)
        if model.framework == "pytorch":
            from isomorph.frameworks.openvino.pytorch_program import OpenvinoTorchSession

            return OpenvinoTorchSession(model, environment, words, openvino)
        from isomorph.frameworks.openvino.session import OpenvinoSession

        return OpenvinoSession(model, environment, words, openvino)
