"""ONNX to ONNX of another opset, up or down, by ONNX's own version converter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from isomorph.core.conversion import AS_IS, Order, Workaround
from isomorph.core.converter_abilities import OPSET, ReleaseNeeds
from isomorph.core.errors import UsageError
from isomorph.core.lazy import require


class OnnxOpset:
    """``onnx.version_converter`` to the opset that ``--opset`` states."""

    name = "onnx_opset"
    source, target, suffix = "onnx", "onnx", ".onnx"
    widths = frozenset({AS_IS})
    packages = ("onnx",)
    install = "pip install isomorph"
    worker = "onnx"
    rank, named = 0, True
    workarounds = (
        Workaround(
            name="number alone",
            description="only the opset's number was changed: every node is valid there as it is",
            options={"adapt": "no"},
        ),
    )
    loses: tuple[str, ...] = ()
    takes_opset = True
    releases = MappingProxyType({
        "onnx": ReleaseNeeds(statement="from onnx import checker, version_converter"),
    })  # fmt: skip

    def conversion_lines(self, options: Mapping[str, str]) -> tuple[str, ...]:
        """The call of ONNX's version converter."""
        wanted = int(options.get(OPSET, "0"))
        return (
            "import onnx",
            "from onnx import version_converter",
            f"onnx.save(version_converter.convert_version(onnx.load(source), {wanted}), target)",
        )

    def convert(self, order: Order) -> Sequence[str]:
        """Write the model at the wanted opset; its converter has few adapters for the way down."""
        onnx = require("onnx", extra="all", needed_for=f"converter {self.name!r}")
        from onnx import version_converter

        wanted = order.options.get(OPSET)
        if wanted is None:
            raise UsageError("BAD_OPTION", "no opset is stated", fix="add --opset 17, for example")
        model = onnx.load(order.source)
        if order.options.get("adapt") == "no":
            for each in model.opset_import:
                if each.domain in {"", "ai.onnx"}:
                    each.version = int(wanted)
            onnx.save(model, order.target)
            # Raises where a node has an input, an attribute or a type that this opset lacks.
            onnx.checker.check_model(order.target, full_check=True)
        else:
            onnx.save(version_converter.convert_version(model, int(wanted)), order.target)
        return ()
