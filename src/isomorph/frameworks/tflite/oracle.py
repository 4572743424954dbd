"""The TFLite oracle: the same model, evaluated in float64 by our own kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.core.lazy import require
from isomorph.oracle.graph_oracle import GraphOracle

if TYPE_CHECKING:
    from isomorph.core.model import Model
    from isomorph.oracle.session import OracleEvaluator


class TfliteOracle(GraphOracle):
    """Evaluates TFLite models.

    Quantized tensors stay integers: the quantizer is part of what the model means.
    """

    framework = "tflite"
    name = worker = "tflite_oracle"
    extra = "tflite"

    def evaluator(self, model: Model) -> OracleEvaluator:
        """The model with its kernels."""
        require("ai_edge_litert", extra="tflite", needed_for="runtime 'tflite_oracle'")
        from isomorph.frameworks.tflite.evaluator import Evaluator

        return Evaluator(model.native, file=model.location)
