"""PyTorch to TFLite by litert-torch, without a stop in another format."""

from __future__ import annotations

from collections.abc import Sequence

from isomorph.converters._torch_operators import taken
from isomorph.core.conversion import AS_IS, Order, Workaround
from isomorph.core.lazy import require


class PytorchToTflite:
    """``litert_torch.convert``; the batch becomes that of the example, int64 inputs int32."""

    name = "pytorch_to_tflite"
    source, target, suffix = "pytorch", "tflite", ".tflite"
    widths = frozenset({AS_IS})
    packages = ("torch", "litert_torch")
    install = "pip install 'isomorph[convert]'"
    worker = "litert"
    rank, named = 0, False
    workarounds: tuple[Workaround, ...] = ()
    loses = ("gradients and training mode", "dynamic axes: every size is that of the example")

    def abilities(self) -> dict[str, object]:
        """Operators that it lowers or takes apart first, and what it does to signatures."""
        torch = require("torch", extra="torch", needed_for=f"converter {self.name!r}")
        require("litert_torch", extra="convert", needed_for=f"converter {self.name!r}")
        from litert_torch.backend.lowerings import registry as lowerings
        from litert_torch.fx_infra import decomp

        apart = (*decomp.pre_convert_decomp(), *decomp.pre_lower_decomp())
        return {
            "operators": taken(torch, (*lowerings.global_registry.registered_ops, *apart)),
            "changed": {"int64": "int32"},
            "fixes_axes": True,
        }

    def convert(self, order: Order) -> Sequence[str]:
        """Convert with the example's sizes."""
        litert = require("litert_torch", extra="convert", needed_for=f"converter {self.name!r}")
        from isomorph.frameworks.pytorch.live_module import live_program

        given = live_program(order, "litert-torch")
        module = given.module.eval()
        edge = litert.convert(module, given.args, dict(given.kwargs) or None)
        edge.export(order.target)
        return ()
