"""Arithmetic and transcendental functions, element by element.

The noise of each is one or two roundings of the largest intermediate of its textbook formula:
that of a sigmoid is 1 even where its result is 1e-8, because 1 + exp(−x) is what gets rounded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from isomorph.kernels.erf import erf
from isomorph.kernels.large_elements import elementwise
from isomorph.kernels.registry import kernel
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array

Size = Callable[[Array, Array], Any]
"""From input and result to the largest intermediate; None for the result itself."""


def _result(x: Array, y: Array) -> None:
    """Rounded once, at the result."""


def _twice(x: Array, y: Array) -> Array:
    return 2.0 * np.abs(y)


def _one(x: Array, y: Array) -> float:
    return 1.0


def _at_least_one(x: Array, y: Array) -> Array:
    return np.maximum(np.abs(y), 1.0)


def _slope_of_tangent(x: Array, y: Array) -> Array:
    return 1.0 + y * y


_UNARY: dict[str, tuple[Callable[[Array], Array], Size | None]] = {
    "Abs": (np.abs, None),
    "Neg": (np.negative, None),
    "Sign": (np.sign, None),
    "Floor": (np.floor, None),
    "Ceil": (np.ceil, None),
    "Round": (np.rint, None),
    "Sqrt": (np.sqrt, _result),
    "Reciprocal": (np.reciprocal, _result),
    "Exp": (np.exp, _twice),
    "Log": (np.log, _twice),
    "Sin": (np.sin, _one),
    "Cos": (np.cos, _one),
    "Tan": (np.tan, _slope_of_tangent),
    "Asin": (np.arcsin, _at_least_one),
    "Acos": (np.arccos, _at_least_one),
    "Atan": (np.arctan, _at_least_one),
    "Sinh": (np.sinh, _at_least_one),
    "Cosh": (np.cosh, _twice),
    "Tanh": (np.tanh, _one),
    "Asinh": (np.arcsinh, _at_least_one),
    "Acosh": (np.arccosh, _at_least_one),
    "Atanh": (np.arctanh, _at_least_one),
    "Erf": (erf, _one),
}

_EXACT_AT_ZERO = frozenset(
    {"Exp", "Sin", "Cos", "Tan", "Asin", "Atan", "Sinh", "Cosh", "Tanh", "Asinh", "Atanh", "Erf"}
)


@kernel(*_UNARY)
def unary(call: Call, x: Array) -> Array:
    """One function of one tensor."""
    function, size = _UNARY[call.op]
    y = np.asarray(elementwise(function, x), dtype=x.dtype)
    if size is None or not call.noise.active:
        return y
    wide = size(x, y)
    return call.noise.rounded(y, beside_zero(x, wide) if call.op in _EXACT_AT_ZERO else wide)


def beside_zero(x: Array, size: Array | float) -> Array:
    """Nothing where the argument is zero: there every implementation has the exact result.

    Disturbed there, equal numbers would differ, and a tie between them would be any of them.
    """
    return np.where(x == 0, 0.0, size)


@kernel("Add", "Sub", "Mul")
def ring(call: Call, a: Array, b: Array) -> Array:
    """Sum, difference or product: rounded once."""
    a, b = _placed(call, a, b)
    return call.noise.added(elementwise(_RING[call.op], a, b), a, b)


_RING: dict[str, Callable[[Array, Array], Array]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
}


@kernel("Div")
def divide(call: Call, a: Array, b: Array) -> Array:
    """Quotient; of integers it is truncated toward zero, and wraps where it overflows."""
    a, b = _placed(call, a, b)
    if a.dtype.kind in "iu":
        return truncated_quotient(a, b)
    return call.noise.rounded(elementwise(np.divide, a, b))


def truncated_quotient(a: Array, b: Array) -> Array:
    """Integer division as the hardware does it, without its traps: x/0 is 0."""
    floored = np.floor_divide(a, b)
    if a.dtype.kind == "u":
        return np.asarray(floored)
    inexact = (floored * b != a) & ((a < 0) != (b < 0)) & (b != 0)
    return np.asarray(floored + inexact.astype(a.dtype))


@kernel("Mod")
def modulo(call: Call, a: Array, b: Array) -> Array:
    """The remainder with the sign of the divisor, or with ``fmod`` that of the dividend."""
    function = np.fmod if call.attributes.get("fmod") else np.mod
    return np.asarray(function(a, b), dtype=a.dtype)


@kernel("Pow")
def power(call: Call, base: Array, exponent: Array) -> Array:
    """A power, in the type of the base."""
    base, exponent = _placed(call, base, exponent)
    if base.dtype.kind in "iu" and exponent.dtype.kind in "iu":
        return np.asarray(_integer_power(base, exponent))
    y = _real_power(base, exponent.astype(np.result_type(base, exponent)))
    if base.dtype.kind != "f":
        return y.astype(base.dtype)
    y = y.astype(base.dtype)
    if not call.noise.active:
        return y
    # Squares, cubes and roots are a few products; the rest goes by exp(b·log a), where the
    # rounding of b·log a is carried into the exponent.
    if np.all((np.abs(exponent) <= 4) & (2 * exponent == np.rint(2 * exponent))):
        return call.noise.rounded(call.noise.rounded(y))
    carried = np.maximum(1.0, np.abs(exponent * np.log(np.abs(base))))
    return call.noise.rounded(y, 2.0 * np.abs(y) * carried)


def _real_power(base: Array, exponent: Array) -> Array:
    if exponent.size != 1 or exponent.reshape(-1)[0] != 0.5:
        return np.asarray(np.power(base, exponent))
    # NumPy takes this single number for a square root, which a power is not at −∞ and −0.
    shape = np.broadcast_shapes(base.shape, exponent.shape)
    return np.asarray(np.power(base, np.full(shape or (1,), exponent))).reshape(shape)


def _integer_power(base: Array, exponent: Array) -> Array:
    # NumPy refuses negative integer exponents; in C they go by the floating-point pow.
    positive = np.maximum(exponent, 0)
    y = np.power(base, positive.astype(base.dtype))
    small = np.power(base.astype(np.float64), exponent.astype(np.float64))
    return np.where(exponent < 0, np.nan_to_num(small).astype(base.dtype), y)


@kernel("Sum", "Mean")
def variadic_sum(call: Call, *inputs: Array) -> Array:
    """Sum or mean of any number of tensors, one after another."""
    y = np.asarray(inputs[0])
    for other in inputs[1:]:
        y = call.noise.rounded(np.asarray(y + other))
    return call.noise.rounded(y / len(inputs)) if call.op == "Mean" else y


@kernel("Max", "Min")
def extreme(call: Call, *inputs: Array) -> Array:
    """The largest or smallest of any number of tensors; NaN wins."""
    function = np.maximum if call.op == "Max" else np.minimum
    y = np.asarray(inputs[0])
    for other in inputs[1:]:
        y = np.asarray(function(y, other))
    return y


@kernel("Clip")
def clip(call: Call, x: Array, low: Array | None = None, high: Array | None = None) -> Array:
    """Between two bounds: attributes until opset 10, then optional inputs."""
    lowest = call.attributes.get("min") if low is None else np.asarray(low, dtype=x.dtype)
    highest = call.attributes.get("max") if high is None else np.asarray(high, dtype=x.dtype)
    y = x
    # Where the bounds cross, the upper one is taken: max first, then min.
    if lowest is not None:
        y = np.maximum(y, lowest)
    if highest is not None:
        y = np.minimum(y, highest)
    return np.asarray(y, dtype=x.dtype)


def _placed(call: Call, a: Array, b: Array) -> tuple[Array, Array]:
    """Before opset 7 ``axis`` states where the second shape sits within the first."""
    if call.version >= 7 or not call.attributes.get("broadcast") or b.ndim == 0:
        return a, b
    axis = call.attributes.get("axis", a.ndim - b.ndim)
    axis += a.ndim if axis < 0 else 0
    return a, b.reshape(b.shape + (1,) * (a.ndim - axis - b.ndim))
