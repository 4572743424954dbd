"""PyTorch to ONNX by the present exporter, which follows the graph of ``torch.export``."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from isomorph.converters._torch_operators import taken
from isomorph.core.conversion import AS_IS, Order, Workaround
from isomorph.core.converter_abilities import ReleaseNeeds, passes_without
from isomorph.core.lazy import require

_OPTIMIZE = "optimize"
_IMPORTS = "import onnxscript, torch.onnx"


class PytorchToOnnx:
    """``torch.onnx.export(dynamo=True)``; it refuses Python decisions on values, loudly."""

    name = "pytorch_to_onnx"
    source, target, suffix = "pytorch", "onnx", ".onnx"
    widths = frozenset({AS_IS})
    packages = ("torch", "onnxscript")
    install = "pip install 'isomorph[torch]'"
    worker = "pytorch"
    rank, named = 0, False
    workarounds = (
        Workaround(
            name="unoptimized",
            description="exported without the exporter's own optimizer",
            options={"optimize": "no"},
        ),
    )
    loses = ("gradients and training mode",)
    takes_opset = True
    releases = MappingProxyType({
        "torch": ReleaseNeeds(statement=_IMPORTS, beside=("onnxscript",)),
        "onnxscript": ReleaseNeeds(statement=_IMPORTS, beside=("torch",)),
    })  # fmt: skip

    def passes(self) -> Sequence[str]:
        """Its own optimizer, as a whole: its parts have no names that could be left out."""
        return (_OPTIMIZE,)

    def abilities(self) -> dict[str, object]:
        """Operators with a translation, and those that are first taken apart."""
        torch = require("torch", extra="torch", needed_for=f"converter {self.name!r}")
        from torch.onnx._internal.exporter._registration import ONNXRegistry

        translated = ONNXRegistry.from_torchlib().functions
        apart = torch.export.default_decompositions()
        return {"operators": taken(torch, (*translated, *apart))}

    def convert(self, order: Order) -> Sequence[str]:
        """Export, and store weights inside the file unless it would pass 2 GB."""
        torch = require("torch", extra="torch", needed_for=f"converter {self.name!r}")
        require("onnxscript", extra="torch", needed_for=f"converter {self.name!r}")
        from isomorph.frameworks.pytorch.live_module import live

        given = live(order)
        opset = order.options.get("opset")
        exported = given.kind == "exported"
        plain = order.options.get("optimize") == "no" or _OPTIMIZE in passes_without(order.options)
        program = torch.onnx.export(
            given.native,
            () if exported else given.args,
            kwargs=None if exported or not given.kwargs else dict(given.kwargs),
            dynamo=True,
            optimize=not plain,
            opset_version=int(opset) if opset else None,
            # An exported program has its names; a module's would be guessed.
            input_names=None if exported else [spec.name for spec in order.inputs],
            verbose=False,
        )
        program.save(order.target)
        return ()
