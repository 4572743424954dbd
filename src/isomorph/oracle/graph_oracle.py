"""What the oracles of files have in common that need no package but isomorph's own kernels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from isomorph.version import VERSION

if TYPE_CHECKING:
    from isomorph.core.model import Model
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Environment
    from isomorph.oracle.session import OracleEvaluator


class GraphOracle(ABC):
    """Evaluates models of ``framework`` in float64, every tensor fetched, with noise when asked."""

    framework: ClassVar[str]
    name: str
    worker: str
    extra: str | None = None
    settings: Mapping[str, str] = {}
    plain: Mapping[str, str] = {}

    def accepts(self, model: Model) -> bool:
        """Only models of its framework."""
        return model.framework == self.framework

    def open(self, model: Model, environment: Environment) -> Session:
        """Find a kernel for every operator; one without meaning is refused here."""
        from isomorph.oracle.session import OracleSession

        return OracleSession(
            self.evaluator(model),
            replace(environment, version=VERSION, device="cpu", precision="float64"),
        )

    @abstractmethod
    def evaluator(self, model: Model) -> OracleEvaluator:
        """The model with a kernel for every operator."""
