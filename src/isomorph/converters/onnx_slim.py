"""ONNX to a simpler ONNX by onnxslim."""

from __future__ import annotations

from collections.abc import Sequence

from isomorph.core.conversion import AS_IS, Order, Workaround
from isomorph.core.lazy import require


class OnnxSlim:
    """onnxslim: constants folded, dead and duplicate nodes removed, nodes fused."""

    name = "onnx_slim"
    source, target, suffix = "onnx", "onnx", ".onnx"
    widths = frozenset({AS_IS})
    packages = ("onnxslim",)
    install = "pip install 'isomorph[convert]'"
    worker = "onnx"
    rank, named = 0, True
    workarounds: tuple[Workaround, ...] = ()
    loses = ("the names of nodes that were fused or removed",)

    def convert(self, order: Order) -> Sequence[str]:
        """Write the simpler model."""
        onnx = require("onnx", extra="all", needed_for=f"converter {self.name!r}")
        slimmer = require("onnxslim", extra="convert", needed_for=f"converter {self.name!r}")
        before = onnx.load(order.source)
        count = len(before.graph.node)
        after = slimmer.slim(before)
        onnx.save(after, order.target)
        return (f"{count} nodes became {len(after.graph.node)}",)
