"""JAX's oracle: the same StableHLO module, evaluated in float64 by our own kernels."""

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


class JaxOracle:
    """Evaluates exported functions in float64, every tensor fetched, with noise when asked."""

    name = "jax_oracle"
    extra: str | None = "jax"
    worker = "jax_oracle"
    settings: Mapping[str, str] = {}
    plain: Mapping[str, str] = {}

    def accepts(self, model: Model) -> bool:
        """Only functions of JAX."""
        return model.framework == "jax"

    def open(self, model: Model, environment: Environment) -> Session:
        """Find a kernel for every operation; one without meaning is refused here."""
        require("jax", extra="jax", needed_for="runtime 'jax_oracle'")
        from isomorph.frameworks.jax.evaluator import JaxGraph
        from isomorph.oracle.evaluator import Evaluator
        from isomorph.oracle.session import OracleSession

        return OracleSession(
            Evaluator(JaxGraph(model.native, file=model.location)),
            replace(environment, version=VERSION, device="cpu", precision="float64"),
        )
