"""ONNX to a simpler ONNX by onnxslim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from isomorph.core.conversion import AS_IS, Order, Workaround
from isomorph.core.converter_abilities import ReleaseNeeds, passes_without
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
    releases = MappingProxyType({
        "onnxslim": ReleaseNeeds(
            statement="import onnx, onnxslim, onnxruntime", beside=("onnxruntime",)
        ),
    })  # fmt: skip

    def passes(self) -> Sequence[str]:
        """The patterns that it fuses or eliminates, each of which has a name."""
        needed = f"converter {self.name!r}"
        known = require("onnxslim.core.pattern.registry", extra="convert", needed_for=needed)
        return tuple(known.DEFAULT_FUSION_PATTERNS)

    def conversion_lines(self, options: Mapping[str, str]) -> tuple[str, ...]:
        """The call as ``convert`` makes it."""
        return (
            "import onnx",
            "import onnxslim",
            f"onnx.save(onnxslim.slim(onnx.load(source){_left_out(options)}), target)",
        )

    def convert(self, order: Order) -> Sequence[str]:
        """Write the simpler model."""
        onnx = require("onnx", extra="all", needed_for=f"converter {self.name!r}")
        slimmer = require("onnxslim", extra="convert", needed_for=f"converter {self.name!r}")
        before = onnx.load(order.source)
        count = len(before.graph.node)
        left_out = list(passes_without(order.options))
        after = slimmer.slim(before, **({"skip_fusion_patterns": left_out} if left_out else {}))
        onnx.save(after, order.target)
        return (f"{count} nodes became {len(after.graph.node)}",)


def _left_out(options: Mapping[str, str]) -> str:
    names = list(passes_without(options))
    return f", skip_fusion_patterns={names!r}" if names else ""
