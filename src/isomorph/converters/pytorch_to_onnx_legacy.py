"""PyTorch to ONNX by the older exporter, which follows one run of the model."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from isomorph.core.conversion import AS_IS, Order, Workaround
from isomorph.core.converter_abilities import ReleaseNeeds, passes_without
from isomorph.core.lazy import require
from isomorph.core.model import TensorSpec

_FOLDING = "constant_folding"


class PytorchToOnnxLegacy:
    """``torch.onnx.export(dynamo=False)``; a Python ``if`` on values is baked in, in silence."""

    name = "pytorch_to_onnx_legacy"
    source, target, suffix = "pytorch", "onnx", ".onnx"
    widths = frozenset({AS_IS})
    packages = ("torch",)
    install = "pip install 'isomorph[torch]'"
    worker = "pytorch"
    rank, named = 5, False
    workarounds = (
        Workaround(
            name="older opset", description="exported for opset 13", options={"opset": "13"}
        ),
    )
    loses = ("gradients and training mode", "where in the source a node came from")
    takes_opset = True
    releases = MappingProxyType({
        "torch": ReleaseNeeds(statement="import onnx, torch.onnx", beside=("onnx",)),
    })  # fmt: skip

    def passes(self) -> Sequence[str]:
        """The only one that can be left out."""
        return (_FOLDING,)

    def abilities(self) -> dict[str, object]:
        """Operators with a symbolic function, and composite ones, whatever their overload."""
        torch = require("torch", extra="torch", needed_for=f"converter {self.name!r}")
        from torch.onnx._internal.torchscript_exporter.registration import registry

        registered = torch._C._dispatch_get_registrations_for_dispatch_key
        known = (*registry.all_functions(), *registered("CompositeImplicitAutograd"))
        return {"families": sorted({_family(str(key)) for key in known})}

    def convert(self, order: Order) -> Sequence[str]:
        """Trace with the example; dynamic axes are declared, which needs the inputs' names."""
        torch = require("torch", extra="torch", needed_for=f"converter {self.name!r}")
        from isomorph.frameworks.pytorch.live_module import live

        given = live(order)
        # The fused encoder layer is an operator that this exporter does not know.
        torch.backends.mha.set_fastpath_enabled(False)
        axes = dynamic_axes(order.inputs)
        torch.onnx.export(
            given.module,
            given.args,
            order.target,
            kwargs=dict(given.kwargs) or None,
            dynamo=False,
            do_constant_folding=_FOLDING not in passes_without(order.options),
            opset_version=int(order.options.get("opset", "17")),
            input_names=[spec.name for spec in order.inputs],
            dynamic_axes=axes or None,
        )
        if not axes:
            return ()
        return (f"dynamic axes declared for {', '.join(axes)}, under their names",)


def _family(name: str) -> str:
    """``aten.add`` for ``aten::add.Tensor``."""
    return ".".join(name.replace("::", ".").split(".")[:2])


def dynamic_axes(specs: Sequence[TensorSpec]) -> dict[str, dict[int, str]]:
    """The axes without a size, by input and place, as this exporter wants them."""
    return {
        spec.name: axes
        for spec in specs
        if (
            axes := {
                place: size or f"{spec.name}_{place}"
                for place, size in enumerate(spec.shape or ())
                if not isinstance(size, int)
            }
        )
    }
