"""PyTorch to ExecuTorch without delegates, for its portable kernels."""

from __future__ import annotations

from collections.abc import Sequence

from isomorph.converters import _executorch
from isomorph.core.conversion import AS_IS, Order, Workaround


class PytorchToExecutorchPortable:
    """``to_edge_transform_and_lower`` without a partitioner."""

    name = "pytorch_to_executorch_portable"
    source, target, suffix = "pytorch", "executorch", ".pte"
    widths = frozenset({AS_IS})
    packages = ("torch", "executorch")
    install = _executorch.INSTALL
    worker = "executorch"
    rank, named = 1, True
    workarounds: tuple[Workaround, ...] = ()
    loses = _executorch.LOSES

    def abilities(self) -> dict[str, object]:
        """Operators that it lowers or takes apart first."""
        return _executorch.abilities(self.name)

    def convert(self, order: Order) -> Sequence[str]:
        """Export where that is still to be done, and lower."""
        return _executorch.lowered(order, self.name, delegates=False)
