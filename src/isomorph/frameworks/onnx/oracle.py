"""The ONNX oracle: the same graph, evaluated in float64 by our own kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from isomorph.core.lazy import require
from isomorph.core.trace import Capabilities, Environment, Noise
from isomorph.version import VERSION

if TYPE_CHECKING:
    from isomorph.core.model import Model
    from isomorph.core.trace import Arrays, Use


class OnnxOracle:
    """Evaluates ONNX models in float64, every tensor fetched, with noise when asked."""

    name = "onnx_oracle"
    extra = None
    worker = "onnx"
    settings: Mapping[str, str] = {}
    plain: Mapping[str, str] = {}

    def accepts(self, model: Model) -> bool:
        """Only ONNX models."""
        return model.framework == "onnx"

    def open(self, model: Model, environment: Environment) -> OnnxOracleSession:
        """Find the means to compute every node; an operator without meaning is refused here."""
        onnx = require("onnx", extra="all", needed_for="runtime 'onnx_oracle'")
        from isomorph.frameworks.onnx.evaluator import Evaluator

        # A bare ModelProto holds its tensors itself; an opened one knows where they lie.
        native = model.native
        evaluator = Evaluator(
            getattr(native, "outline", native),
            read=getattr(native, "array", onnx.numpy_helper.to_array),
            file=model.location,
            # Of several entries for a tensor the first is its writer's.
            grids={each.tensor: each for each in reversed(model.graph.quantization) if each.scale},
        )
        return OnnxOracleSession(
            evaluator,
            replace(
                environment,
                version=VERSION,
                precision="float64",
                facts={**environment.facts, "onnx": str(onnx.__version__)},
            ),
        )


class OnnxOracleSession:
    """One opened model."""

    capabilities = Capabilities(fetch="all", feed="all", bodies=False, noise=True)

    def __init__(self, evaluator: Any, environment: Environment) -> None:  # noqa: ANN401
        self.environment = environment
        self._evaluator = evaluator

    def run(self, feeds: Arrays, fetch: Sequence[str], *, noise: Noise | None = None) -> Arrays:
        """Compute ``fetch`` from ``feeds``; both may name any top-level tensor or constant."""
        results: Arrays = self._evaluator.run(feeds, fetch, noise)
        return results

    def hand_over(
        self, feeds: Arrays, fetch: Sequence[str], use: Use, *, noise: Noise | None = None
    ) -> None:
        """Like ``run``, but nothing is kept: each tensor is used as soon as it is computed."""
        self._evaluator.run(feeds, fetch, noise, use)

    def close(self) -> None:
        """Let go of the graph, its lifted weights and the magnitudes of its sums."""
        self._evaluator = None
