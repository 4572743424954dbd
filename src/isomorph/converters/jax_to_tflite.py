"""JAX to TFLite by TensorFlow's converter, which takes StableHLO as one operator of a graph."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from isomorph import registry
from isomorph.core.conversion import AS_IS, Order, Workaround
from isomorph.core.lazy import require

_UNFIT = re.compile(r"[^A-Za-z0-9_]+")


class JaxToTflite:
    """``XlaCallModule`` around the exported module, lowered by ``tf.lite.TFLiteConverter``.

    No code of JAX is traced again: what is converted is the module of the file.
    """

    name = "jax_to_tflite"
    source, target, suffix = "jax", "tflite", ".tflite"
    widths = frozenset({AS_IS, "float16", "dynamic"})
    packages = ("tensorflow", "jax")
    install = "pip install 'isomorph[jax,tensorflow]'"
    worker = "tensorflow"
    rank, named = 0, False
    workarounds: tuple[Workaround, ...] = ()
    loses = ("the names of nodes: they are joined", "dynamic axes but the first")

    def convert(self, order: Order) -> Sequence[str]:
        """Write the flatbuffer."""
        require("tensorflow", extra="tensorflow", needed_for=f"converter {self.name!r}")
        import tensorflow as tf

        program = registry.framework("jax").load(order.source, {}).native
        holder = tf.Module()
        holder.function = _function(program)
        concrete = holder.function.get_concrete_function()
        converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete], holder)
        if order.width != AS_IS:
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
        if order.width == "float16":
            converter.target_spec.supported_types = [tf.float16]
        Path(order.target).write_bytes(converter.convert())
        return ("converted from the StableHLO module, without tracing",)


def _function(program: Any) -> Any:  # noqa: ANN401
    import tensorflow as tf
    from tensorflow.compiler.tf2xla.python import xla

    exported = program.exported

    def call(*inputs: Any) -> Any:  # noqa: ANN401
        results = xla.call_module(
            [inputs[place] for place in program.kept],
            version=exported.calling_convention_version,
            module=exported.mlir_module_serialized,
            Tout=[tf.dtypes.as_dtype(str(each.dtype)) for each in exported.out_avals],
            Sout=[_sizes(each.shape) for each in exported.out_avals],
            platforms=[each.upper() for each in exported.platforms],
            function_list=[],
        )
        # A signature by names would put the outputs into another order.
        return dict(zip(program.outputs, results, strict=True)) if program.keyed else results

    specs = [
        tf.TensorSpec(_sizes(each.shape), tf.dtypes.as_dtype(str(each.dtype)), name=name)
        for each, name in zip(exported.in_avals, _keywords(program.inputs), strict=True)
    ]
    return tf.function(call, input_signature=specs, autograph=False)


def _sizes(shape: Any) -> list[int | None]:  # noqa: ANN401
    return [size if isinstance(size, int) else None for size in shape]


def _keywords(names: Sequence[str]) -> list[str]:
    """Names that arguments of a signature can have."""
    plain = [_UNFIT.sub("_", name).strip("_") for name in names]
    if all(name[:1].isalpha() for name in plain) and len(set(plain)) == len(plain):
        return plain
    return [f"input_{place}" for place in range(len(names))]
