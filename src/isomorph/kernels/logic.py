"""Comparisons, truth values, bits, and questions about single elements. None of them rounds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from isomorph.kernels.registry import kernel
from isomorph.oracle.call import Call
from isomorph.oracle.dtypes import numpy_dtype
from isomorph.oracle.noise import Array

_BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "Equal": np.equal,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
    "And": np.logical_and,
    "Or": np.logical_or,
    "Xor": np.logical_xor,
    "BitwiseAnd": np.bitwise_and,
    "BitwiseOr": np.bitwise_or,
    "BitwiseXor": np.bitwise_xor,
}


@kernel(*_BINARY)
def binary(call: Call, a: Array, b: Array) -> Array:
    """One question about two tensors."""
    if call.version < 7 and call.attributes.get("broadcast") and b.ndim:
        axis = call.attributes.get("axis", a.ndim - b.ndim)
        axis += a.ndim if axis < 0 else 0
        b = b.reshape(b.shape + (1,) * (a.ndim - axis - b.ndim))
    y = np.asarray(_BINARY[call.op](a, b))
    return y if call.op.startswith("Bitwise") else y.astype(bool)


@kernel("Not")
def negation(call: Call, x: Array) -> Array:
    """True where false."""
    return np.logical_not(x)


@kernel("BitwiseNot")
def complement(call: Call, x: Array) -> Array:
    """Every bit turned over."""
    return np.bitwise_not(x)


@kernel("BitShift")
def shift(call: Call, x: Array, places: Array) -> Array:
    """Left or right by so many places; beyond the width only the sign is left, if any."""
    last = x.dtype.itemsize * 8 - 1
    within = np.minimum(places, last).astype(x.dtype)
    if call.attributes["direction"] == "LEFT":
        return np.where(places > last, np.zeros((), x.dtype), np.left_shift(x, within))
    shifted = np.right_shift(x, within)
    gone = (places > last) & (x.dtype.kind == "u")
    return np.where(gone, np.zeros((), x.dtype), shifted)


@kernel("IsNaN")
def is_nan(call: Call, x: Array) -> Array:
    """True where not a number."""
    return np.isnan(x)


@kernel("IsInf")
def is_infinite(call: Call, x: Array) -> Array:
    """True where infinite, of the signs asked for."""
    positive = bool(call.attributes.get("detect_positive", 1))
    negative = bool(call.attributes.get("detect_negative", 1))
    return (np.isposinf(x) & positive) | (np.isneginf(x) & negative)


@kernel("Where")
def where(call: Call, condition: Array, a: Array, b: Array) -> Array:
    """One tensor where true, the other where false."""
    return np.where(condition, a, b)


@kernel("BitCast")
def bit_cast(call: Call, x: Array) -> Array:
    """The same bits under another type of the same width.

    A lifted float is rounded into its declared type first: it has no other bits.
    """
    from isomorph.oracle.dtypes import ONNX_DTYPES

    declared = call.input_dtypes[0] if call.input_dtypes else None
    source = x if declared is None else x.astype(numpy_dtype(declared))
    target = numpy_dtype(ONNX_DTYPES[call.attributes["to"]])
    return np.ascontiguousarray(source).view(target).reshape(x.shape)
