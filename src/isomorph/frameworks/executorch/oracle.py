"""The ExecuTorch oracle: the same program, evaluated in float64 by our own kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.oracle.graph_oracle import GraphOracle

if TYPE_CHECKING:
    from isomorph.core.model import Model
    from isomorph.oracle.session import OracleEvaluator


class ExecutorchOracle(GraphOracle):
    """Evaluates programs, the nodes of XNNPACK delegates one by one.

    Quantized tensors stay integers: the quantizer is part of what the program means.
    """

    framework = "executorch"
    name = worker = "executorch_oracle"

    def evaluator(self, model: Model) -> OracleEvaluator:
        """The program with its kernels."""
        from isomorph.frameworks.executorch.evaluator import PteGraph
        from isomorph.oracle.evaluator import Evaluator

        return Evaluator(PteGraph(model.native, model.location))
