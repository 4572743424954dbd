"""The OpenVINO oracle: the same model, evaluated in float64 by our own kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.oracle.graph_oracle import GraphOracle

if TYPE_CHECKING:
    from isomorph.core.model import Model
    from isomorph.oracle.session import OracleEvaluator


class OpenvinoOracle(GraphOracle):
    """Evaluates models in OpenVINO's own format."""

    framework = "openvino"
    name = worker = "openvino_oracle"

    def evaluator(self, model: Model) -> OracleEvaluator:
        """The graph with its kernels."""
        from isomorph.frameworks.openvino.evaluator import IrMainGraph
        from isomorph.oracle.evaluator import Evaluator

        return Evaluator(IrMainGraph(model.native, model.location))
