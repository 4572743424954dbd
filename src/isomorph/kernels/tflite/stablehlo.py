"""The StableHLO operators that some TFLite files contain and that have one plain meaning."""

from __future__ import annotations

import numpy as np

from isomorph.kernels.casting import convert
from isomorph.kernels.data_movement import integers
from isomorph.kernels.registry import kernel, standard
from isomorph.kernels.tflite.activations import TFLITE
from isomorph.oracle.call import Call
from isomorph.oracle.dtypes import holds, is_float, type_name
from isomorph.oracle.noise import Array

_PLAIN = {
    "ADD": "Add", "SUBTRACT": "Sub", "MULTIPLY": "Mul", "DIVIDE": "Div", "MAXIMUM": "Max",
    "MINIMUM": "Min", "POWER": "Pow", "ABS": "Abs", "NEGATE": "Neg", "EXPONENTIAL": "Exp",
    "LOG": "Log", "TANH": "Tanh", "LOGISTIC": "Sigmoid", "FLOOR": "Floor", "COSINE": "Cos",
    "SELECT": "Where",
}  # fmt: skip


@kernel(*(f"STABLEHLO_{word}" for word in _PLAIN), domain=TFLITE)
def plain(call: Call, *inputs: Array) -> Array:
    """What ONNX has under another name."""
    op = _PLAIN[call.op.removeprefix("STABLEHLO_")]
    return np.asarray(standard(call, op, *inputs, version=14))


@kernel("STABLEHLO_AND", "STABLEHLO_OR", domain=TFLITE)
def bits(call: Call, a: Array, b: Array) -> Array:
    """Of truth values or of bits."""
    function = np.bitwise_and if call.op == "STABLEHLO_AND" else np.bitwise_or
    return np.asarray(function(a, b))


@kernel("STABLEHLO_REMAINDER", domain=TFLITE)
def remainder(call: Call, a: Array, b: Array) -> Array:
    """With the sign of the dividend."""
    return np.asarray(np.fmod(a, b))


@kernel("STABLEHLO_CLAMP", domain=TFLITE)
def clamp(call: Call, low: Array, x: Array, high: Array) -> Array:
    """Between two bounds."""
    return np.asarray(np.minimum(np.maximum(x, low), high))


@kernel("STABLEHLO_COMPARE", domain=TFLITE)
def compare(call: Call, a: Array, b: Array) -> Array:
    """One question about two tensors."""
    words = {
        "EQ": np.equal, "NE": np.not_equal, "GE": np.greater_equal, "GT": np.greater,
        "LE": np.less_equal, "LT": np.less,
    }  # fmt: skip
    word = str(call.attributes["comparison_direction"]).rpartition("_")[2]
    return np.asarray(words[word](a, b))


@kernel("STABLEHLO_CONVERT", domain=TFLITE)
def converted(call: Call, x: Array) -> Array:
    """Another type."""
    source = call.input_dtypes[0] or type_name(x)
    target = str(call.attributes["output_dtypes"][0])
    if is_float(source) and is_float(target) and holds(target, source):
        return x
    return convert(x, source, target)


@kernel("STABLEHLO_RESHAPE", domain=TFLITE)
def reshape(call: Call, x: Array) -> Array:
    """Into the declared shape of the result, which StableHLO always knows."""
    return x.reshape(call.attributes["output_shapes"][0])


@kernel("STABLEHLO_TRANSPOSE", domain=TFLITE)
def transpose(call: Call, x: Array) -> Array:
    """The axes in another order."""
    return np.transpose(x, integers(call.attributes["permutation"]))


@kernel("STABLEHLO_CONCATENATE", domain=TFLITE)
def concatenate(call: Call, *inputs: Array) -> Array:
    """One after another along an axis."""
    return np.concatenate(inputs, axis=int(call.attributes.get("dimension", 0)))


@kernel("STABLEHLO_SLICE", domain=TFLITE)
def cut(call: Call, x: Array) -> Array:
    """A part of each axis."""
    ends = ("start_indices", "limit_indices", "strides")
    parts = zip(*(integers(call.attributes[end]) for end in ends), strict=True)
    return x[tuple(slice(*part) for part in parts)]


@kernel("STABLEHLO_BROADCAST_IN_DIM", domain=TFLITE)
def broadcast(call: Call, x: Array) -> Array:
    """The axes of ``x`` at the named places of the result, repeated along the others."""
    shape = call.attributes["output_shapes"][0]
    placed = [1] * len(shape)
    for axis, place in enumerate(integers(call.attributes.get("broadcast_dimensions", ()))):
        placed[place] = x.shape[axis]
    return np.broadcast_to(x.reshape(placed), shape)


@kernel("STABLEHLO_IOTA", domain=TFLITE)
def count(call: Call) -> Array:
    """0, 1, 2 … along one axis."""
    shape, axis = call.attributes["output_shapes"][0], int(call.attributes["iota_dimension"])
    grid = np.arange(shape[axis]).reshape([-1 if a == axis else 1 for a in range(len(shape))])
    return np.broadcast_to(grid, shape)
