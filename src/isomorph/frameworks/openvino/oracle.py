"""The OpenVINO oracle: the same model, evaluated in float64 by our own kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from isomorph.version import VERSION

if TYPE_CHECKING:
    from isomorph.core.model import Model
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Environment


class OpenvinoOracle:
    """Evaluates OpenVINO models in float64, every tensor fetched, with noise when asked."""

    name = "openvino_oracle"
    extra: str | None = None
    worker = "openvino_oracle"
    settings: Mapping[str, str] = {}
    plain: Mapping[str, str] = {}

    def accepts(self, model: Model) -> bool:
        """Only models in OpenVINO's own format."""
        return model.framework == "openvino"

    def open(self, model: Model, environment: Environment) -> Session:
        """Find a kernel for every operator; one without meaning is refused here."""
        from isomorph.frameworks.openvino.evaluator import Evaluator
        from isomorph.oracle.session import OracleSession

        return OracleSession(
            Evaluator(model.native, file=model.location),
            replace(environment, version=VERSION, device="cpu", precision="float64"),
        )
