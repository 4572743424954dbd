"""ExecuTorch's own runtime on the CPU: portable, optimized and XNNPACK kernels, as deployed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from isomorph.core.lazy import require
from isomorph.core.settings import thread_count

if TYPE_CHECKING:
    from isomorph.core.model import Model
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Environment

_EXCHANGE = "import executorch.runtime"
"""What shows that a release works with the NumPy beside it."""


class ExecutorchRuntime:
    """Runs the program that a device would run, by the kernels of the installed package."""

    name = "executorch"
    extra: str | None = "executorch"
    worker = "executorch"
    packages: Mapping[str, str] = {"executorch": _EXCHANGE}
    settings: Mapping[str, str] = {"threads": ""}
    plain: Mapping[str, str] = {}

    def accepts(self, model: Model) -> bool:
        """Only ExecuTorch programs."""
        return model.framework == "executorch"

    def open(self, model: Model, environment: Environment) -> Session:
        """Load the program; a kernel or backend that is missing is named here."""
        require("executorch", extra="executorch", needed_for="runtime 'executorch'")
        require("torch", extra="torch", needed_for="runtime 'executorch'")
        from isomorph.frameworks.executorch.session import ExecutorchSession

        words = {**self.settings, **environment.settings}
        threads = thread_count(words["threads"]) or environment.threads or 1
        return ExecutorchSession(model, environment, words, threads)
