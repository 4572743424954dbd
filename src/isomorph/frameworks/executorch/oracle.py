"""The ExecuTorch oracle: the same program, evaluated in float64 by our own kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from isomorph.version import VERSION

if TYPE_CHECKING:
    from isomorph.core.model import Model
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Environment


class ExecutorchOracle:
    """Evaluates programs in float64, every tensor fetched, with noise when asked.

    The nodes of XNNPACK delegates are evaluated one by one. Quantized tensors stay integers: the
    quantizer is part of what the program means.
    """

    name = "executorch_oracle"
    extra: str | None = None
    worker = "executorch_oracle"
    settings: Mapping[str, str] = {}
    plain: Mapping[str, str] = {}

    def accepts(self, model: Model) -> bool:
        """Only ExecuTorch programs."""
        return model.framework == "executorch"

    def open(self, model: Model, environment: Environment) -> Session:
        """Find a kernel for every operator; one without meaning is refused here."""
        from isomorph.frameworks.executorch.evaluator import PteGraph
        from isomorph.oracle.evaluator import Evaluator
        from isomorph.oracle.session import OracleSession

        return OracleSession(
            Evaluator(PteGraph(model.native, model.location)),
            replace(environment, version=VERSION, device="cpu", precision="float64"),
        )
