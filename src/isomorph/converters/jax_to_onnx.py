"""JAX to ONNX by jax2onnx."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from isomorph import registry
from isomorph.core.conversion import AS_IS, Order, Workaround
from isomorph.core.lazy import require

_UNFIT = re.compile(r"[^A-Za-z0-9_.]+")
_OPSET = 23
"""What jax2onnx writes unless it is asked for another."""


class JaxToOnnx:
    """jax2onnx follows Python, so the exported module is called by it operation by operation."""

    name = "jax_to_onnx"
    source, target, suffix = "jax", "onnx", ".onnx"
    widths = frozenset({AS_IS})
    packages = ("jax", "jax2onnx")
    install = "pip install 'isomorph[jax]' jax2onnx"
    worker = "jax2onnx"
    rank, named = 0, False
    workarounds = (
        Workaround(
            name="older opset", description="converted for opset 21", options={"opset": "21"}
        ),
    )
    loses = ("the names of operations", "layers as single nodes: they are decomposed")
    takes_opset = True

    def convert(self, order: Order) -> Sequence[str]:
        """Write the model."""
        jax2onnx = require("jax2onnx", extra="jax", needed_for=f"converter {self.name!r}")
        import jax
        import onnx

        from isomorph.converters._stablehlo_function import function_of

        program = registry.framework("jax").load(order.source, {}).native
        _load_plugins()
        specs = [jax.ShapeDtypeStruct(each.shape, each.dtype) for each in program.exported.in_avals]
        wide = any(str(each.dtype) in {"float64", "int64"} for each in program.exported.in_avals)
        model = jax2onnx.to_onnx(
            function_of(program),
            specs,
            model_name="function",
            opset=int(order.options.get("opset", _OPSET)),
            enable_double_precision=wide,
            input_names=[_UNFIT.sub("_", name) for name in program.inputs],
            output_names=[_UNFIT.sub("_", name) for name in program.outputs],
        )
        onnx.save(model, order.target)
        return ("converted operation by operation from the StableHLO module",)


def _load_plugins() -> None:
    """Import the plugins of jax2onnx for operations of JAX, which are all that is converted here.

    Those for layers of other packages, and its examples, compile programs while they are imported:
    most of what a conversion takes. A release that has other names imports everything by itself.
    """
    from jax2onnx.plugins import plugin_system

    load, done = getattr(plugin_system, "_import_tree", None), "_already_imported_plugins"
    folder = Path(str(plugin_system.__file__)).parent / "jax"
    if callable(load) and getattr(plugin_system, done, None) is False and folder.is_dir():
        load(folder, "jax2onnx.plugins.jax")
        setattr(plugin_system, done, True)
