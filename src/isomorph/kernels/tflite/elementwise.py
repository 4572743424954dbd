"""TFLite's arithmetic, comparisons and choices, element by element."""

from __future__ import annotations

import numpy as np

from isomorph.kernels.casting import convert
from isomorph.kernels.registry import kernel, standard
from isomorph.kernels.tflite.activations import TFLITE, fused
from isomorph.oracle.call import Call
from isomorph.oracle.dtypes import holds, is_float, numpy_dtype, type_name
from isomorph.oracle.noise import Array

_ARITHMETIC = {"ADD": "Add", "SUB": "Sub", "MUL": "Mul", "DIV": "Div"}

_UNARY = {
    "ABS": "Abs", "NEG": "Neg", "EXP": "Exp", "LOG": "Log", "SQRT": "Sqrt", "SIN": "Sin",
    "COS": "Cos", "FLOOR": "Floor", "CEIL": "Ceil", "ROUND": "Round", "SIGN": "Sign",
}  # fmt: skip

_QUESTIONS = {
    "EQUAL": "Equal",
    "LESS": "Less",
    "LESS_EQUAL": "LessOrEqual",
    "GREATER": "Greater",
    "GREATER_EQUAL": "GreaterOrEqual",
    "LOGICAL_AND": "And",
    "LOGICAL_OR": "Or",
    "BITWISE_XOR": "BitwiseXor",
}


@kernel(*_ARITHMETIC, domain=TFLITE)
def arithmetic(call: Call, a: Array, b: Array) -> Array:
    """Sum, difference, product or quotient, rounded once, behind a fused activation."""
    return fused(call, np.asarray(standard(call, _ARITHMETIC[call.op], a, b, version=14)))


@kernel(*_UNARY, domain=TFLITE)
def unary(call: Call, x: Array) -> Array:
    """One function of one tensor; a half is rounded to the even neighbor."""
    return np.asarray(standard(call, _UNARY[call.op], x, version=13))


@kernel("RSQRT", "STABLEHLO_RSQRT", domain=TFLITE)
def inverse_root(call: Call, x: Array) -> Array:
    """1/√x: a root and a quotient."""
    y = np.asarray(1.0 / np.sqrt(x), dtype=x.dtype)
    return call.noise.rounded(y, 2.0 * np.abs(y)) if call.noise.active else y


@kernel("SQUARE", domain=TFLITE)
def square(call: Call, x: Array) -> Array:
    """X·x."""
    return call.noise.rounded(np.asarray(x * x))


@kernel("SQUARED_DIFFERENCE", domain=TFLITE)
def squared_difference(call: Call, a: Array, b: Array) -> Array:
    """(a − b)²."""
    away = call.noise.rounded(np.asarray(a - b))
    return call.noise.rounded(np.asarray(away * away))


@kernel("POW", domain=TFLITE)
def power(call: Call, base: Array, exponent: Array) -> Array:
    """A power, in the type of the base."""
    return np.asarray(standard(call, "Pow", base, exponent, version=15))


@kernel("MAXIMUM", "MINIMUM", domain=TFLITE)
def extreme(call: Call, a: Array, b: Array) -> Array:
    """The larger or smaller of two."""
    op = "Max" if call.op == "MAXIMUM" else "Min"
    return np.asarray(standard(call, op, a, b, version=13))


@kernel("FLOOR_DIV", domain=TFLITE)
def floored_quotient(call: Call, a: Array, b: Array) -> Array:
    """The quotient rounded down."""
    if a.dtype.kind != "f":
        return np.asarray(np.floor_divide(a, b))
    return np.asarray(np.floor(call.noise.rounded(np.asarray(a / b))))


@kernel("FLOOR_MOD", domain=TFLITE)
def floored_remainder(call: Call, a: Array, b: Array) -> Array:
    """The remainder with the sign of the divisor."""
    return np.asarray(np.mod(a, b), dtype=a.dtype)


@kernel("ADD_N", domain=TFLITE)
def added(call: Call, *inputs: Array) -> Array:
    """One after another."""
    return np.asarray(standard(call, "Sum", *inputs, version=13))


@kernel("ATAN2", domain=TFLITE)
def angle(call: Call, y: Array, x: Array) -> Array:
    """The angle of a point in the plane."""
    return call.noise.rounded(np.asarray(np.arctan2(y, x)), np.pi)


@kernel(*_QUESTIONS, "NOT_EQUAL", domain=TFLITE)
def question(call: Call, a: Array, b: Array) -> Array:
    """One question about two tensors."""
    if call.op == "NOT_EQUAL":
        return np.asarray(np.not_equal(a, b)).astype(bool)
    return np.asarray(standard(call, _QUESTIONS[call.op], a, b, version=18))


@kernel("LOGICAL_NOT", domain=TFLITE)
def negation(call: Call, x: Array) -> Array:
    """True where false."""
    return np.logical_not(x)


@kernel("RIGHT_SHIFT", domain=TFLITE)
def shift(call: Call, x: Array, places: Array) -> Array:
    """To the right by so many places; a negative number keeps its sign."""
    return np.asarray(standard(call, "BitShift", x, places, version=11, direction="RIGHT"))


@kernel("SELECT", "SELECT_V2", domain=TFLITE)
def choice(call: Call, condition: Array, a: Array, b: Array) -> Array:
    """One tensor where true, the other where false."""
    if call.op == "SELECT" and condition.ndim == 1 and a.ndim > 1:
        # The older form chooses whole slices of the first axis.
        condition = condition.reshape(-1, *(1,) * (a.ndim - 1))
    return np.where(condition, a, b)


@kernel("WHERE", domain=TFLITE)
def places(call: Call, condition: Array) -> Array:
    """The coordinates of everything true, one row each."""
    found = np.argwhere(condition)
    return np.asarray(found, np.int64)


@kernel("CAST", domain=TFLITE)
def cast(call: Call, x: Array) -> Array:
    """Another type, on the numbers as stored: a quantized tensor is not dequantized."""
    source = call.input_dtypes[0] or type_name(x)
    target = str(call.attributes["output_dtypes"][0])
    if source.startswith("complex") or target.startswith("complex"):
        wide = np.asarray(x.real if x.dtype.kind == "c" else x)
        return wide.astype(np.complex128) if target.startswith("complex") else wide
    if is_float(source) and is_float(target) and holds(target, source):
        return x
    return convert(x, source, target)


@kernel("BITCAST", domain=TFLITE)
def bit_cast(call: Call, x: Array) -> Array:
    """The same bits under another type; the last axis grows or shrinks with the width."""
    declared = call.input_dtypes[0]
    source = x if declared is None else x.astype(numpy_dtype(declared))
    target = numpy_dtype(str(call.attributes["output_dtypes"][0]))
    bits = np.ascontiguousarray(source)
    if target.itemsize == bits.dtype.itemsize:
        return bits.view(target).reshape(x.shape)
    if target.itemsize < bits.dtype.itemsize:
        return bits[..., None].view(target)
    return bits.view(target)[..., 0]
