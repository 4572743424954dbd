"""Casts. The oracle never rounds an activation; a Cast of the model does."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from isomorph.kernels.registry import kernel
from isomorph.oracle.call import Call
from isomorph.oracle.dtypes import ONNX_DTYPES, holds, is_float, numpy_dtype, type_name
from isomorph.oracle.noise import Array
from isomorph.oracle.rounding_rules import is_real, stored_noise


@kernel("Cast", "CastLike")
def cast(call: Call, x: Array, like: Array | None = None) -> Array:
    """Another type. A wider float type changes nothing, a narrower one rounds."""
    target = _declared(call, 1, like) if like is not None else ONNX_DTYPES[call.attributes["to"]]
    source = _declared(call, 0, x)
    if is_float(source) and is_float(target) and holds(target, source):
        return x
    saturate = bool(call.attributes.get("saturate", 1))
    if target == "float8_e8m0fnu":
        how = call.attributes.get("round_mode", "up")
        return _to_power_of_two(x, numpy_dtype(target), how, saturate=saturate)
    narrow = convert(x, source, target, saturate=saturate)
    if call.noise.quantizers and is_float(source) and is_float(target) and is_real(x):
        # The loss that the narrower type intends: any value within one rounding, not just this.
        with np.errstate(invalid="ignore"):
            return np.where(np.isfinite(narrow), stored_noise(x, target, call.noise), narrow)
    return narrow


def convert(x: Array, source: str, target: str, *, saturate: bool = True) -> Array:
    """``x``, declared as ``source``, in the type ``target``."""
    kind = numpy_dtype(target)
    if target == "string":
        return _spelled(x, source)
    if source == "string":
        return _parsed(x, target)
    if is_float(target):
        return _to_float(x, target, kind, saturate=saturate)
    if target in ("int4", "uint4", "int2", "uint2"):
        # These wrap like the wider integers they are stored in.
        bits = int(target[-1])
        low = 0 if target.startswith("u") else 1 << (bits - 1)
        whole = np.asarray(np.trunc(x) if x.dtype.kind == "f" else x).astype(np.int64)
        return np.asarray((((whole + low) % (1 << bits)) - low).astype(np.int8).astype(kind))
    with np.errstate(invalid="ignore", over="ignore"):
        if x.dtype.kind == "f" and kind.kind == "u":
            # A negative number has no unsigned value of its own; in C it goes by way of int64.
            return np.where(x < 0, x.astype(np.int64).astype(kind), x.astype(kind))
        return np.asarray(x).astype(kind)


def _to_float(x: Array, target: str, kind: np.dtype[Any], *, saturate: bool) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        if not target.startswith("float8"):
            return np.asarray(x).astype(kind)
        import ml_dtypes

        wide = np.asarray(x).astype(np.float64)
        y = wide.astype(kind)
        if saturate:
            # Infinity saturates too; NaN stays.
            largest = float(ml_dtypes.finfo(kind).max)
            lost = ~np.isfinite(y.astype(np.float64)) & ~np.isnan(wide)
            limited = np.clip(wide, -largest, largest).astype(kind)
            y = np.where(lost | (np.abs(wide) > largest), limited, y)
        return y


def _to_power_of_two(x: Array, kind: np.dtype[Any], how: str, *, saturate: bool) -> Array:
    """float8_e8m0fnu has an exponent and nothing else; the sign is dropped."""
    wide = np.abs(np.asarray(x).astype(np.float64))
    fraction, exponent = np.frexp(wide)
    # A fraction of one half is a power of two already.
    exponent = exponent - 1
    if how == "nearest":
        exponent = exponent + (fraction >= 0.75)
    elif how == "up":
        exponent = exponent + (fraction > 0.5)
    exponent = np.where(wide == 0, -127, exponent)
    powers = np.ldexp(1.0, np.clip(exponent, -127, 127))
    lost = ~np.isfinite(wide) | ((exponent > 127) & (not saturate))
    return np.where(lost, np.nan, powers).astype(kind)


def _spelled(x: Array, source: str) -> Array:
    # The shortest digits that give the declared type back, as runtimes print them.
    kind = numpy_dtype(source)
    narrow = np.asarray(x).astype(kind) if is_float(source) else np.asarray(x)
    flat = np.array([_word(item) for item in narrow.reshape(-1)], dtype=object)
    return flat.reshape(narrow.shape)


def _word(item: Any) -> str:  # noqa: ANN401
    if isinstance(item, (bool, np.bool_)):
        return "1" if item else "0"
    if isinstance(item, (int, np.integer, str)):
        return str(item)
    number = float(item)
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "INF" if number > 0 else "-INF"
    return str(item)


def _parsed(x: Array, target: str) -> Array:
    kind = numpy_dtype(target)
    words = [str(item) for item in np.asarray(x).reshape(-1)]
    if is_float(target):
        flat = np.array([float(word) for word in words], np.float64).astype(kind)
    elif target == "bool":
        flat = np.array([word.lower() not in ("", "0", "false") for word in words])
    else:
        flat = np.array([int(word) for word in words]).astype(kind)
    return flat.reshape(np.shape(x))


def _declared(call: Call, index: int, array: Array) -> str:
    if index < len(call.input_dtypes) and call.input_dtypes[index]:
        return str(call.input_dtypes[index])
    return type_name(np.asarray(array))
