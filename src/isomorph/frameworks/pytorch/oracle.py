"""The float64 oracle of PyTorch models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from isomorph.core.lazy import require

if TYPE_CHECKING:
    from isomorph.core.execution import StoredProducts
    from isomorph.core.model import Model
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Environment


_ON_CPU = "--set oracle.device=cpu"


class PytorchOracle:
    """The same program in float64, every tensor fetched, with Monte-Carlo noise on request."""

    name = "pytorch_oracle"
    extra = "torch"
    worker = "pytorch"
    settings: Mapping[str, str] = {"device": "cpu"}
    plain: Mapping[str, str] = {}

    def device_lost(self, error: BaseException) -> bool:
        """Whether an error of CUDA leaves the process unable to compute there."""
        torch = require("torch", extra=self.extra, needed_for=f"runtime {self.name!r}")
        # An index beyond its table, for example: every later call fails with the same error. The
        # releases of another environment may lack the class.
        return isinstance(error, getattr(torch, "AcceleratorError", ()))

    def accepts(self, model: Model) -> bool:
        """Only PyTorch models."""
        return model.framework == "pytorch"

    def products_on(self, device: str) -> StoredProducts | None:
        """The products with stored matrices on this device, for the oracle of any framework."""
        torch = require("torch", extra=self.extra, needed_for=f"--set oracle.device={device}")
        from isomorph.frameworks.pytorch.device_products import DeviceProducts
        from isomorph.frameworks.pytorch.runtime import usable_device

        usable = usable_device(torch, device, fix=_ON_CPU)
        return None if usable.type == "cpu" else DeviceProducts(usable)

    def open(self, model: Model, environment: Environment) -> Session:
        """Weights are lifted when a run first needs them."""
        torch = require("torch", extra=self.extra, needed_for="runtime 'pytorch_oracle'")
        from isomorph.frameworks.pytorch.evaluator import TorchEvaluator
        from isomorph.frameworks.pytorch.runtime import usable_device
        from isomorph.oracle.session import OracleSession

        settings = {**self.settings, **environment.settings}
        device = usable_device(torch, settings["device"], fix=_ON_CPU)
        evaluator = TorchEvaluator(model.native, device)
        return OracleSession(
            evaluator,
            replace(
                environment,
                version=str(torch.__version__),
                device=str(device),
                settings=settings,
                precision="float64",
                threads=torch.get_num_threads(),
                facts=_facts(torch, device),
            ),
            evaluator.capabilities,
        )


def _facts(torch: Any, device: Any) -> dict[str, str]:  # noqa: ANN401
    facts = {"cpu capability": torch.backends.cpu.get_cpu_capability()}
    if device.type == "cuda":
        facts["device name"] = torch.cuda.get_device_name(device)
    return facts
