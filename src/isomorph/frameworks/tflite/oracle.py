"""The TFLite oracle: the same model, evaluated in float64 by our own kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from isomorph.core.lazy import require
from isomorph.version import VERSION

if TYPE_CHECKING:
    from isomorph.core.model import Model
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Environment


class TfliteOracle:
    """Evaluates TFLite models in float64, every tensor fetched, with noise when asked.

    Quantized tensors stay integers: the quantizer is part of what the model means.
    """

    name = "tflite_oracle"
    extra = "tflite"
    worker = "tflite_oracle"
    settings: Mapping[str, str] = {}
    plain: Mapping[str, str] = {}

    def accepts(self, model: Model) -> bool:
        """Only TFLite models."""
        return model.framework == "tflite"

    def open(self, model: Model, environment: Environment) -> Session:
        """Find a kernel for every operator; one without meaning is refused here."""
        require("ai_edge_litert", extra=self.extra, needed_for="runtime 'tflite_oracle'")
        from isomorph.frameworks.tflite.evaluator import Evaluator
        from isomorph.oracle.session import OracleSession

        return OracleSession(
            Evaluator(model.native, file=model.location),
            replace(environment, version=VERSION, device="cpu", precision="float64"),
        )
