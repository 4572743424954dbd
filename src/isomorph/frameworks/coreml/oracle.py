"""The Core ML oracle: the same model, evaluated in float64 by our own kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.oracle.graph_oracle import GraphOracle

if TYPE_CHECKING:
    from isomorph.core.model import Model
    from isomorph.oracle.session import OracleEvaluator


class CoremlOracle(GraphOracle):
    """Evaluates models in Core ML's own format."""

    framework = "coreml"
    name = worker = "coreml_oracle"

    def evaluator(self, model: Model) -> OracleEvaluator:
        """The graph with its kernels."""
        from isomorph.frameworks.coreml.evaluator import Evaluator

        return Evaluator(model.native, file=model.location)
