"""JAX's oracle: the same StableHLO module, evaluated in float64 by our own kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.core.lazy import require
from isomorph.oracle.graph_oracle import GraphOracle

if TYPE_CHECKING:
    from isomorph.core.model import Model
    from isomorph.oracle.session import OracleEvaluator


class JaxOracle(GraphOracle):
    """Evaluates exported functions."""

    framework = "jax"
    name = worker = "jax_oracle"
    extra = "jax"

    def evaluator(self, model: Model) -> OracleEvaluator:
        """The module with its kernels."""
        require("jax", extra="jax", needed_for="runtime 'jax_oracle'")
        from isomorph.frameworks.jax.evaluator import JaxGraph
        from isomorph.oracle.evaluator import Evaluator

        return Evaluator(JaxGraph(model.native, file=model.location))
