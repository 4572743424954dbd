"""The options of a TFLite operator as a mapping: schema names, enums as words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from isomorph.frameworks.tflite.buffers import DTYPES

ENUMS = {
    "fused_activation_function": schema.ActivationFunctionType,
    "padding": schema.Padding,
    "weights_format": schema.FullyConnectedOptionsWeightsFormat,
    "kernel_type": schema.LSTMKernelType,
    "combiner": schema.CombinerType,
    "mode": schema.MirrorPadMode,
    "reduce_function": schema.ReduceWindowFunction,
    "comparison_direction": schema.StablehloComparisonDirection,
    "compare_type": schema.StablehloComparisonType,
    "algorithm": schema.RngAlgorithm,
    "precision_config": schema.StablehloPrecisionConfig,
}
"""The options that are words, with the enum that numbers them."""
TYPES = frozenset(
    {"in_data_type", "out_data_type", "output_type", "out_type", "idx_out_type", "key_dtype",
     "value_dtype", "quantized_bias_type"}
)  # fmt: skip
"""The options that are element types."""
_TEXTS = frozenset({"container", "shared_name", "name", "call_target_name", "backend_config"})


def options_of(operator: Any) -> Mapping[str, Any]:  # noqa: ANN401
    """Builtin options of either kind; empty where the file has none."""
    found: dict[str, Any] = {}
    for options in (operator.builtinOptions, operator.builtinOptions2):
        if options is None:
            continue
        for key, value in vars(options).items():
            name = snake(key)
            found[name] = _spelled(type(options).__name__, name, value)
    return found


@cache
def snake(word: str) -> str:
    """``fusedActivationFunction`` as the schema writes it, ``fused_activation_function``."""
    return re.sub(r"(?<!^)([A-Z])", r"_\1", word).lower()


@cache
def words_of(enum: type) -> Mapping[int, str]:
    """The names of a schema enum by number."""
    return {value: name for name, value in vars(enum).items() if not name.startswith("_")}


def dtype_of(number: int) -> str:
    """The neutral name of a TensorType; one that the schema does not know is ``type 99``."""
    return DTYPES.get(words_of(schema.TensorType).get(number, ""), f"type {number}")


def _spelled(owner: str, name: str, value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if value is None:
        return "" if name in _TEXTS else ()
    if isinstance(value, (list, np.ndarray)):
        return tuple(_number(owner, name, item) for item in value)
    return _number(owner, name, value)


def _number(owner: str, name: str, value: Any) -> Any:  # noqa: ANN401
    plain = value.item() if isinstance(value, np.generic) else value
    if not isinstance(plain, int) or isinstance(plain, bool):
        return plain
    if name in TYPES:
        return dtype_of(plain)
    if owner == "LSHProjectionOptionsT" and name == "type":
        return words_of(schema.LSHProjectionType).get(plain, plain)
    # Stablehlo windows have a vector of numbers under the name that convolutions use for a word.
    if name in ENUMS and not (name == "padding" and owner.startswith("Stablehlo")):
        return words_of(ENUMS[name]).get(plain, plain)
    return plain
