"""StableHLO's arithmetic, comparisons, bits and conversions, element by element."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from isomorph.kernels.casting import cast
from isomorph.kernels.elementwise import beside_zero
from isomorph.kernels.registry import kernel, standard
from isomorph.oracle.call import Call
from isomorph.oracle.dtypes import ONNX_DTYPES, is_float, numpy_dtype
from isomorph.oracle.noise import Array

STABLEHLO = "stablehlo"
"""The domain of these operations."""

_PLAIN = {
    "add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "Div", "maximum": "Max",
    "minimum": "Min", "power": "Pow", "abs": "Abs", "negate": "Neg", "exponential": "Exp",
    "log": "Log", "tanh": "Tanh", "logistic": "Sigmoid", "floor": "Floor", "ceil": "Ceil",
    "cosine": "Cos", "sine": "Sin", "tan": "Tan", "sqrt": "Sqrt", "sign": "Sign",
    "round_nearest_even": "Round", "chlo.erf": "Erf", "mhlo.erf": "Erf", "chlo.asin": "Asin",
    "chlo.acos": "Acos", "chlo.atan": "Atan", "chlo.sinh": "Sinh", "chlo.cosh": "Cosh",
    "chlo.asinh": "Asinh", "chlo.acosh": "Acosh", "chlo.atanh": "Atanh",
}  # fmt: skip
_VERSION = 14
"""Of ONNX's operators, which these are under another name."""


@kernel(*_PLAIN, domain=STABLEHLO)
def plain(call: Call, *inputs: Array) -> Array:
    """What ONNX has under another name."""
    return np.asarray(standard(call, _PLAIN[call.op], *inputs, version=_VERSION))


@kernel("rsqrt", domain=STABLEHLO)
def reciprocal_root(call: Call, x: Array) -> Array:
    """One over the square root."""
    return call.noise.rounded(np.asarray(1.0 / np.sqrt(x), x.dtype))


_WITH_SIZES: dict[str, tuple[Callable[[Array], Array], bool]] = {
    "exponential_minus_one": (np.expm1, True),
    "log_plus_one": (np.log1p, True),
    "cbrt": (np.cbrt, False),
}
"""Functions, and whether they may be computed by way of a number near one."""


@kernel(*_WITH_SIZES, domain=STABLEHLO)
def function_of_one(call: Call, x: Array) -> Array:
    """A function whose result is rounded twice."""
    function, _ = _WITH_SIZES[call.op]
    y = np.asarray(function(x), x.dtype)
    if not call.noise.active:
        return y
    return call.noise.rounded(y, beside_zero(x, 2.0 * np.abs(y)))


@kernel("chlo.square", domain=STABLEHLO)
def square(call: Call, x: Array) -> Array:
    """A number by itself."""
    return call.noise.added(np.asarray(x * x), x, x)


@kernel("atan2", domain=STABLEHLO)
def angle(call: Call, y: Array, x: Array) -> Array:
    """The angle of a point."""
    found = np.asarray(np.arctan2(y, x))
    return call.noise.rounded(found, np.maximum(np.abs(found), 1.0)) if call.noise.active else found


@kernel("remainder", domain=STABLEHLO)
def remainder(call: Call, a: Array, b: Array) -> Array:
    """With the sign of the dividend; no quotient is rounded on the way."""
    return np.asarray(np.fmod(a, b))


@kernel("round_nearest_afz", domain=STABLEHLO)
def away_from_zero(call: Call, x: Array) -> Array:
    """The nearest whole number, halves away from zero."""
    whole = np.trunc(x)
    return np.asarray(whole + np.sign(x) * (np.abs(x - whole) >= 0.5), x.dtype)


@kernel("is_finite", domain=STABLEHLO)
def is_finite(call: Call, x: Array) -> Array:
    """Neither infinite nor NaN."""
    return np.isfinite(x)


@kernel("and", "or", "xor", domain=STABLEHLO)
def bits(call: Call, a: Array, b: Array) -> Array:
    """Of truth values or of bits."""
    words = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
    return np.asarray(words[call.op](a, b))


@kernel("not", domain=STABLEHLO)
def turned_over(call: Call, x: Array) -> Array:
    """Every bit, or the truth value, turned over."""
    return np.asarray(np.invert(x))


@kernel("popcnt", domain=STABLEHLO)
def bit_count(call: Call, x: Array) -> Array:
    """How many bits are set."""
    unsigned = x.view(f"u{x.dtype.itemsize}")
    return np.asarray(np.bitwise_count(unsigned), x.dtype)


@kernel("shift_left", "shift_right_logical", "shift_right_arithmetic", domain=STABLEHLO)
def shift(call: Call, x: Array, places: Array) -> Array:
    """By so many places; beyond the width nothing is left but, of an arithmetic one, the sign."""
    width = x.dtype.itemsize * 8
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    count = places.view(unsigned) if places.dtype.kind == "i" else places
    within = np.minimum(count, width - 1)
    beyond = count >= width
    if call.op == "shift_right_arithmetic":
        signed = x.view(f"i{x.dtype.itemsize}")
        return np.asarray(np.right_shift(signed, within.astype(signed.dtype))).view(x.dtype)
    function = np.left_shift if call.op == "shift_left" else np.right_shift
    moved = function(x.view(unsigned), within.astype(unsigned))
    return np.where(beyond, np.zeros((), unsigned), moved).view(x.dtype)


@kernel("clamp", domain=STABLEHLO)
def clamp(call: Call, low: Array, x: Array, high: Array) -> Array:
    """Between two bounds."""
    return np.asarray(np.minimum(np.maximum(x, low), high))


@kernel("select", domain=STABLEHLO)
def select(call: Call, choice: Array, yes: Array, no: Array) -> Array:
    """One of two, element by element."""
    return np.where(choice, yes, no)


_QUESTIONS = {
    "EQ": np.equal, "NE": np.not_equal, "GE": np.greater_equal, "GT": np.greater,
    "LE": np.less_equal, "LT": np.less,
}  # fmt: skip


@kernel("compare", domain=STABLEHLO)
def compare(call: Call, a: Array, b: Array) -> Array:
    """One question about two tensors."""
    return np.asarray(_QUESTIONS[str(call.attributes["comparison_direction"])](a, b))


@kernel("convert", domain=STABLEHLO)
def convert(call: Call, x: Array) -> Array:
    """Another type. To integers what is too large becomes the largest, and NaN becomes zero."""
    target = str(call.attributes["output_dtypes"][0])
    kind = numpy_dtype(target)
    if kind == np.bool_:
        return np.not_equal(x, 0)
    if kind.kind in "iu" and x.dtype.kind == "f":
        bounds = np.iinfo(kind)
        whole = np.clip(np.nan_to_num(np.trunc(x), nan=0.0), float(bounds.min), float(bounds.max))
        # The largest int64 has no float64: what is clipped to it would not fit.
        with np.errstate(invalid="ignore"):
            return np.where(whole >= float(bounds.max), bounds.max, whole.astype(kind))
    if not is_float(target):
        return np.asarray(x).astype(kind)
    number = next(number for number, name in ONNX_DTYPES.items() if name == target)
    attributes = {"to": number, "saturate": 0}
    inner = replace(call, op="Cast", version=19, attributes=attributes)
    return np.asarray(cast(inner, np.asarray(x)))


@kernel("reduce_precision", domain=STABLEHLO)
def reduce_precision(call: Call, x: Array) -> Array:
    """Rounded to fewer digits, in the same type."""
    exponent, mantissa = (int(call.attributes[f"{word}_bits"]) for word in ("exponent", "mantissa"))
    known = {(8, 23): x.dtype, (8, 7): numpy_dtype("bfloat16"), (5, 10): np.dtype(np.float16)}
    if (exponent, mantissa) not in known:
        raise ValueError(f"{exponent} bits of exponent and {mantissa} of mantissa")
    return np.asarray(x.astype(known[exponent, mantissa]).astype(x.dtype))


@kernel("bitcast_convert", domain=STABLEHLO)
def reinterpret(call: Call, x: Array) -> Array:
    """The same bits under another type; another width adds a last axis, or takes it away."""
    source, target = (numpy_dtype(str(each)) for each in (
        call.input_dtypes[0], call.attributes["output_dtypes"][0]))  # fmt: skip
    declared = x.astype(source, order="C")
    if source.itemsize > target.itemsize:
        declared = declared[..., None]
    found = declared.view(target)
    return np.asarray(found[..., 0] if source.itemsize < target.itemsize else found)
