"""PyTorch to ExecuTorch with XNNPACK delegates, in float32 or quantized to eight bits."""

from __future__ import annotations

from collections.abc import Sequence

from isomorph.converters import _executorch
from isomorph.core.conversion import AS_IS, Order, Workaround


class PytorchToExecutorch:
    """``to_edge_transform_and_lower`` with XNNPACK; int8 is calibrated on every sample (pt2e)."""

    name = "pytorch_to_executorch"
    source, target, suffix = "pytorch", "executorch", ".pte"
    widths = frozenset({AS_IS, "int8", "dynamic"})
    packages = ("torch", "executorch")
    install = _executorch.INSTALL
    worker = "executorch"
    rank, named = 0, False
    workarounds = (
        Workaround(
            name="portable kernels",
            description="leave out XNNPACK",
            options={"delegates": "none"},
            for_divergent=True,
        ),
    )
    loses = _executorch.LOSES

    def abilities(self) -> dict[str, object]:
        """Operators that it lowers or takes apart first."""
        return _executorch.abilities(self.name)

    def convert(self, order: Order) -> Sequence[str]:
        """Export where that is still to be done, quantize where that is asked for, lower."""
        portable = order.options.get("delegates") == "none"
        return _executorch.lowered(order, self.name, delegates=not portable)
