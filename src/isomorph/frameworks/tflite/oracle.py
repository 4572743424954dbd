"""The TFLite oracle: the same model, evaluated in float64 by our own kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from isomorph.core.lazy import require
from isomorph.core.trace import Capabilities, Environment, Noise
from isomorph.version import VERSION

if TYPE_CHECKING:
    from isomorph.core.model import Model
    from isomorph.core.trace import Arrays


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

    def open(self, model: Model, environment: Environment) -> TfliteOracleSession:
        """Find a kernel for every operator; one without meaning is refused here."""
        require("ai_edge_litert", extra=self.extra, needed_for="runtime 'tflite_oracle'")
        from isomorph.frameworks.tflite.evaluator import Evaluator

        return TfliteOracleSession(
            Evaluator(model.native, file=model.location),
            replace(environment, version=VERSION, device="cpu", precision="float64"),
        )


class TfliteOracleSession:
    """One opened model."""

    capabilities = Capabilities(fetch="all", feed="all", bodies=False, noise=True)

    def __init__(self, evaluator: Any, environment: Environment) -> None:  # noqa: ANN401
        self.environment = environment
        self._evaluator = evaluator

    def run(self, feeds: Arrays, fetch: Sequence[str], *, noise: Noise | None = None) -> Arrays:
        """Compute ``fetch`` from ``feeds``; both may name any tensor of the main sub-graph."""
        results: Arrays = self._evaluator.run(feeds, fetch, noise)
        return results

    def close(self) -> None:
        """Let go of the program and its lifted weights."""
        self._evaluator = None
