"""The ONNX oracle: the same graph, evaluated in float64 by our own kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from isomorph.core.lazy import require
from isomorph.oracle.accelerators import loses_device, products_on
from isomorph.version import VERSION

if TYPE_CHECKING:
    from isomorph.core.model import Model
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Environment


class OnnxOracle:
    """Evaluates ONNX models in float64, every tensor fetched, with noise when asked."""

    name = "onnx_oracle"
    extra = None
    worker = "onnx"
    settings: Mapping[str, str] = {"device": "cpu"}
    plain: Mapping[str, str] = {}

    def device_lost(self, error: BaseException) -> bool:
        """Whether an error of an accelerator leaves the process unable to compute there."""
        return loses_device(error)

    def accepts(self, model: Model) -> bool:
        """Only ONNX models."""
        return model.framework == "onnx"

    def open(self, model: Model, environment: Environment) -> Session:
        """Find the means to compute every node; an operator without meaning is refused here."""
        onnx = require("onnx", extra="all", needed_for="runtime 'onnx_oracle'")
        from isomorph.frameworks.onnx.evaluator import Evaluator
        from isomorph.oracle.session import OracleSession

        # A bare ModelProto holds its tensors itself; a loaded one knows where they lie.
        native = model.native
        settings = {**self.settings, **environment.settings}
        products = products_on(settings["device"])
        evaluator = Evaluator(
            getattr(native, "outline", native),
            read=getattr(native, "array", onnx.numpy_helper.to_array),
            file=model.location,
            # Of several entries for a tensor the first is its writer's.
            grids={each.tensor: each for each in reversed(model.graph.quantization) if each.scale},
            products=products,
        )
        return OracleSession(
            evaluator,
            replace(
                environment,
                version=VERSION,
                device=environment.device if products is None else products.device,
                settings=settings,
                precision="float64",
                facts={**environment.facts, "onnx": str(onnx.__version__)},
            ),
        )
