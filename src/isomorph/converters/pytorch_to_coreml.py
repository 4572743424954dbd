"""PyTorch to Core ML by Core ML Tools, without a stop in another format."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from isomorph.core.conversion import AS_IS, Order, Workaround
from isomorph.core.lazy import require

_NAME = re.compile(r"[A-Za-z_]\w*")
_LEAST = 64
"""Weights of fewer numbers stay as they are: a palette of 256 would take more room."""


class PytorchToCoreml:
    """``coremltools.convert`` on one traced run, as an ML program; every size is the example's.

    ``dynamic`` stores weights as 8-bit integers with a scale for each channel, ``palettized`` as
    indices into 256 numbers: what is computed stays float32, and no samples are needed.
    """

    name = "pytorch_to_coreml"
    source, target, suffix = "pytorch", "coreml", ".mlpackage"
    widths = frozenset({AS_IS, "float16", "dynamic", "palettized"})
    packages = ("torch", "coremltools")
    install = "pip install 'isomorph[torch]' && pip install --no-deps coremltools cattrs pyaml"
    worker = "coreml"
    rank, named = 0, False
    workarounds: tuple[Workaround, ...] = ()
    loses = (
        "gradients and training mode",
        "dynamic axes: every size is that of the example",
        "decisions on values: the traced run is what is converted",
    )

    def abilities(self) -> dict[str, object]:
        """Operators that its own table translates; overloads count as one, as they do there."""
        require("torch", extra="torch", needed_for=f"converter {self.name!r}")
        require("coremltools", extra="coreml", needed_for=f"converter {self.name!r}")
        from coremltools.converters.mil.frontend.torch import ops, torch_op_registry

        del ops  # importing it fills the table
        table = torch_op_registry._TORCH_OPS_REGISTRY.name_to_func_mapping
        names = {name.partition(".")[0] for name in table}
        # A trace sees sizes as numbers.
        sizes = {f"aten.sym_{word}" for word in ("size", "stride", "numel", "storage_offset")}
        spelled = {f"aten.{word}" for name in names for word in (name, f"__{name}__")}
        return {"families": sorted(spelled | sizes)}

    def convert(self, order: Order) -> Sequence[str]:
        """Trace, translate, compress the weights, and write a package."""
        torch = require("torch", extra="torch", needed_for=f"converter {self.name!r}")
        tools = require("coremltools", extra="coreml", needed_for=f"converter {self.name!r}")
        from isomorph.frameworks.pytorch.live_module import live

        given = live(order)
        module = given.native
        if given.kind != "script":
            with torch.no_grad():
                module = torch.jit.trace(given.module.eval(), given.values, strict=False)
        precision = tools.precision.FLOAT16 if order.width == "float16" else tools.precision.FLOAT32
        model = tools.convert(
            module,
            inputs=_inputs(tools, order, given.values),
            outputs=_outputs(tools, order),
            convert_to="mlprogram",
            compute_precision=precision,
            minimum_deployment_target=tools.target.iOS16,
            skip_model_load=True,
        )
        notes = ["for iOS 16, macOS 13 and later"]
        if order.width == "palettized":
            model, how = _palettized(tools, model)
            notes.append(how)
        elif order.width == "dynamic":
            model = _quantized(tools, model)
            notes.append("weights in 8 bits with a scale for each channel; activations in float32")
        model.save(order.target)
        return tuple(notes)


def _inputs(tools: Any, order: Order, values: Sequence[Any]) -> list[Any]:  # noqa: ANN401
    """The inputs under their names; Core ML has no integers but int32."""
    import numpy as np

    return [
        tools.TensorType(
            name=spec.name,
            shape=tuple(value.shape),
            dtype=np.float32 if value.is_floating_point() else np.int32,
        )
        for spec, value in zip(order.inputs, values, strict=True)
    ]


def _outputs(tools: Any, order: Order) -> list[Any] | None:  # noqa: ANN401
    """The outputs under their names, in float32 whatever is computed in; None if one has none."""
    import numpy as np

    if not all(_NAME.fullmatch(spec.name) for spec in order.outputs):
        return None
    return [
        tools.TensorType(
            name=spec.name, dtype=np.float32 if "float" in (spec.dtype or "") else np.int32
        )
        for spec in order.outputs
    ] or None


def _palettized(tools: Any, model: Any) -> tuple[Any, str]:  # noqa: ANN401
    """By k-means where scikit-learn is installed, else by equal steps."""
    optimize = tools.optimize.coreml
    mode = "kmeans" if find_spec("sklearn") is not None else "uniform"
    config = optimize.OpPalettizerConfig(mode=mode, nbits=8, weight_threshold=_LEAST)
    made = optimize.palettize_weights(model, optimize.OptimizationConfig(global_config=config))
    return made, f"weights by palettes of 256 numbers ({mode})"


def _quantized(tools: Any, model: Any) -> Any:  # noqa: ANN401
    optimize = tools.optimize.coreml
    config = optimize.OpLinearQuantizerConfig(mode="linear_symmetric", weight_threshold=_LEAST)
    return optimize.linear_quantize_weights(
        model, optimize.OptimizationConfig(global_config=config)
    )
