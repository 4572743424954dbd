"""Operators that make tensors: constants, ranges, identities, random numbers; and casts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from isomorph.kernels.dtypes import (
    HALVES,
    ONNX_DTYPES,
    holds,
    is_float,
    numpy_dtype,
    type_name,
)
from isomorph.kernels.movement import integers
from isomorph.kernels.noise import Array, generator
from isomorph.kernels.table import Call, kernel


@kernel("Constant")
def constant(call: Call) -> Array:
    """The stored value, whichever attribute holds it."""
    attributes = call.attributes
    for name in ("value", "sparse_value"):
        if name in attributes:
            return np.asarray(attributes[name])
    name, value = next((k, v) for k, v in attributes.items() if k.startswith("value_"))
    if name.startswith("value_string"):
        return np.array(value, dtype=object)
    return np.array(value, dtype=np.float32 if "float" in name else np.int64)


@kernel("ConstantOfShape")
def constant_of_shape(call: Call, shape: Array) -> Array:
    """One value everywhere; float32 zero when none is given."""
    value = np.asarray(call.attributes.get("value", np.zeros(1, np.float32))).reshape(-1)
    return np.full(integers(shape), value[0], dtype=value.dtype)


@kernel("EyeLike")
def eye_like(call: Call, x: Array) -> Array:
    """Ones on a diagonal."""
    number = call.attributes.get("dtype")
    name = ONNX_DTYPES[number] if number else type_name(x)
    rows, columns = x.shape
    return np.eye(rows, columns, k=call.attributes.get("k", 0)).astype(numpy_dtype(name))


@kernel("Range")
def span(call: Call, start: Array, limit: Array, delta: Array) -> Array:
    """From start to limit; how many there are is decided in the declared type."""
    first, last, step = (np.asarray(part).reshape(-1)[0] for part in (start, limit, delta))
    if first.dtype.kind == "f":
        kind = numpy_dtype(call.dtype or first.dtype.name)
        declared = [part.astype(kind) for part in (first, last, step)]
        count = math.ceil(float((declared[1] - declared[0]) / declared[2]))
    else:
        count = -((int(first) - int(last)) // int(step))
    places = np.arange(max(count, 0))
    return np.asarray(first + places.astype(first.dtype) * step, dtype=first.dtype)


@kernel("Cast", "CastLike")
def cast(call: Call, x: Array, like: Array | None = None) -> Array:
    """Another type. A wider float type changes nothing, a narrower one rounds."""
    if like is None:
        target = ONNX_DTYPES[call.attributes["to"]]
    else:
        target = _declared(call, 1, like)
    source = _declared(call, 0, x)
    if is_float(source) and is_float(target) and holds(target, source):
        return x
    return convert(x, source, target, saturate=bool(call.attributes.get("saturate", 1)))


def convert(x: Array, source: str, target: str, *, saturate: bool = True) -> Array:
    """``x``, declared as ``source``, in the type ``target``."""
    kind = numpy_dtype(target)
    if target == "string":
        return _spelled(x, source)
    if source == "string":
        return _parsed(x, target)
    if is_float(target):
        return _to_float(x, target, kind, saturate)
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


def _to_float(x: Array, target: str, kind: np.dtype[Any], saturate: bool) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.asarray(x)
        if values.dtype == bool or values.dtype.kind in "iu" or target in HALVES:
            values = values.astype(np.float64) if values.dtype.name not in HALVES else values
        if not target.startswith("float8") or target == "float8_e8m0fnu":
            return values.astype(kind)
        import ml_dtypes

        largest = float(ml_dtypes.finfo(kind).max)
        wide = values.astype(np.float64)
        y = wide.astype(kind)
        if saturate:
            beyond = (np.abs(wide) > largest) | (
                ~np.isfinite(y.astype(np.float64)) & np.isfinite(wide)
            )
            limited = np.clip(wide, -largest, largest).astype(kind)
            y = np.where(beyond & ~np.isnan(wide), limited, y)
        return y


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


@kernel("RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike")
def random_numbers(call: Call, like: Array | None = None) -> Array:
    """Random numbers of the declared shape; the same ones in every run of the same node."""
    shape = np.shape(like) if like is not None else tuple(call.attributes["shape"])
    source = _seeded(call)
    if "Normal" in call.op:
        drawn = source.standard_normal(shape)
        y = call.attributes.get("mean", 0.0) + call.attributes.get("scale", 1.0) * drawn
    else:
        low, high = call.attributes.get("low", 0.0), call.attributes.get("high", 1.0)
        y = low + (high - low) * source.random(shape)
    number = call.attributes.get("dtype")
    name = ONNX_DTYPES[number] if number else (call.dtype or "float32")
    return np.asarray(y).astype(numpy_dtype(name))


@kernel("Bernoulli")
def bernoulli(call: Call, x: Array) -> Array:
    """One with the given probability, else zero."""
    number = call.attributes.get("dtype")
    name = ONNX_DTYPES[number] if number else x.dtype.name
    return (_seeded(call).random(x.shape) < x).astype(numpy_dtype(name))


@kernel("Multinomial")
def multinomial(call: Call, x: Array) -> Array:
    """Classes drawn with the given unnormalised log-probabilities."""
    draws = int(call.attributes.get("sample_size", 1))
    weights = np.exp(x - x.max(axis=-1, keepdims=True))
    edges = np.cumsum(weights, axis=-1) / weights.sum(axis=-1, keepdims=True)
    points = _seeded(call).random((x.shape[0], draws))
    chosen = (points[:, :, None] >= edges[:, None, :]).sum(axis=-1)
    name = ONNX_DTYPES[call.attributes.get("dtype", 6)]
    return np.asarray(np.minimum(chosen, x.shape[-1] - 1)).astype(numpy_dtype(name))


@kernel("Dropout")
def dropout(
    call: Call, x: Array, ratio: Array | None = None, training: Array | None = None
) -> Array | tuple[Array, Array]:
    """Nothing in inference; in training mode it drops, and scales what is left."""
    share = float(call.attributes.get("ratio", 0.5) if ratio is None else np.asarray(ratio))
    drops = bool(np.asarray(training)) if training is not None else False
    if call.version < 7:
        drops = not call.attributes.get("is_test", 0)
    if not drops or share == 0.0:
        kept = np.ones(x.shape, bool)
        return (x, kept) if call.outputs > 1 else x
    kept = _seeded(call).random(x.shape) >= share
    y = np.asarray(np.where(kept, x / (1.0 - share), 0.0), dtype=x.dtype)
    y = call.noise.rounded(y)
    return (y, kept) if call.outputs > 1 else y


def _seeded(call: Call) -> np.random.Generator:
    """The node's own seed where it states one; nothing of the noise, which must not redraw it."""
    return generator(0, (call.op, float(call.attributes.get("seed", 0.0) or 0.0)))
