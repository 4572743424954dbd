"""Operators in TFLite's own spelling: from a neutral word to a builtin with its options.

A patch may contain ``Relu`` or of ``Transpose`` with a permutation. TFLite has its own words,
keeps some parameters as constants, and some operators only in one form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from isomorph.core.errors import UsageError
from isomorph.frameworks.tflite.buffers import DTYPES
from isomorph.frameworks.tflite.op_names import NEUTRAL
from isomorph.frameworks.tflite.op_options import ENUMS, TYPES, snake, words_of

if TYPE_CHECKING:
    from isomorph.core.trace import Array

# Whose options are called otherwise than the operator itself, or are shared by several.
_OPTIONS = {
    "MEAN": "Reducer", "SUM": "Reducer", "REDUCE_PROD": "Reducer", "REDUCE_MAX": "Reducer",
    "REDUCE_MIN": "Reducer", "REDUCE_ANY": "Reducer", "REDUCE_ALL": "Reducer",
    "MAX_POOL_2D": "Pool2D", "AVERAGE_POOL_2D": "Pool2D", "L2_POOL_2D": "Pool2D",
    "MAXIMUM": "MaximumMinimum", "MINIMUM": "MaximumMinimum", "L2_NORMALIZATION": "L2Norm",
    "CONV_2D": "Conv2D", "DEPTHWISE_CONV_2D": "DepthwiseConv2D", "CUMSUM": "Cumsum",
    "BATCH_MATMUL": "BatchMatMul", "PADV2": "PadV2",
    "RESIZE_NEAREST_NEIGHBOR": "ResizeNearestNeighbor",
}  # fmt: skip
# Of several builtins for one neutral word, the one that a patch means.
_MEANT = {"Where": "SELECT_V2", "Pad": "PAD", "Abs": "ABS", "Gather": "GATHER", "Split": "SPLIT"}
_CLIPS = {(0.0, 6.0): "RELU6", (-1.0, 1.0): "RELU_N1_TO_1", (0.0, 1.0): "RELU_0_TO_1"}
_ONE_FORM = frozenset({"Conv", "ConvTranspose", "Resize", "Slice", "ScatterND", "LSTM", "RNN"})
_LAST_AXIS = frozenset({"Softmax", "LogSoftmax"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Spelled:
    """A builtin by name, its options by schema name, and the constants it reads after the rest."""

    op: str
    options: Mapping[str, Any] = field(default_factory=dict)
    constants: tuple[Array, ...] = ()


def spelled(op: str, attributes: Mapping[str, Any], rank: int | None) -> Spelled:
    """What to write for an operator of a patch; an error where TFLite has no such thing."""
    if hasattr(schema.BuiltinOperator, op):
        return Spelled(op=op, options=attributes)
    given = dict(attributes)
    if op == "Clip":
        bounds = float(given.get("min", 0.0)), float(given.get("max", np.inf))
        if bounds in _CLIPS or bounds == (0.0, np.inf):
            return Spelled(op=_CLIPS.get(bounds, "RELU"))
        raise _no_such(op, f"it clips between {bounds[0]} and {bounds[1]}")
    if op == "Transpose":
        return Spelled(op="TRANSPOSE", constants=(np.asarray(given["perm"], np.int32),))
    if op in _LAST_AXIS:
        axis = given.pop("axis", -1)
        if axis not in (-1, None if rank is None else rank - 1):
            raise _no_such(op, f"it runs along the last axis only, and axis {axis} was asked for")
        return Spelled(op=_builtin(op), options={"beta": 1.0} if op == "Softmax" else {})
    if op == "Elu" and given.pop("alpha", 1.0) != 1.0:
        raise _no_such(op, "its alpha is always 1")
    if op == "Gelu":
        return Spelled(op="GELU", options={"approximate": given.get("approximate") == "tanh"})
    return Spelled(op=_builtin(op), options=given)


def _builtin(op: str) -> str:
    found = [name for name, word in NEUTRAL.items() if word == op]
    if op in _ONE_FORM or not found:
        raise _no_such(op, "it has no builtin operator of this meaning")
    return _MEANT.get(op, found[0])


def _no_such(op: str, why: str) -> UsageError:
    return UsageError("PATCH_OPERATOR", f"TFLite has no {op} as the patch wants it", why=why)


def options_for(op: str) -> tuple[int, Any]:
    """The number of the kind of options of a builtin, and an empty set of them.

    Many operators have none: their kind is 0.
    """
    stem = _OPTIONS.get(op) or "".join(part.capitalize() for part in op.split("_"))
    number = getattr(schema.BuiltinOptions, f"{stem}Options", 0)
    return int(number), getattr(schema, f"{stem}OptionsT")() if number else None


def set_option(options: Any, name: str, value: Any) -> bool:  # noqa: ANN401
    """Give one option a value in the schema's own numbers; False where there is no such option.

    None gives it the schema's default.
    """
    key = next((each for each in vars(options) if snake(each) == name), None)
    if key is None:
        return False
    if value is None:
        setattr(options, key, vars(type(options)())[key])
        return True
    setattr(options, key, _number(name, value, vars(options)[key]))
    return True


def _number(name: str, value: Any, now: Any) -> Any:  # noqa: ANN401
    if isinstance(value, str):
        if name in TYPES:
            types = {DTYPES[word]: number for number, word in words_of(schema.TensorType).items()}
            return types[value]
        if name in ENUMS:
            return {word: number for number, word in words_of(ENUMS[name]).items()}[value]
        return value.encode()
    if isinstance(value, (tuple, list, np.ndarray)):
        return np.asarray(value, np.int32)
    if isinstance(now, bool):
        return bool(value)
    return float(value) if isinstance(now, float) else int(value)
