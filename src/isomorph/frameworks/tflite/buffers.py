"""Bytes of a TFLite file as arrays: packed integers, strings and sparse tensors included."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frameworks.tflite.sparse_constants import densified
from isomorph.oracle.dtypes import numpy_dtype

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.frameworks.tflite.program import TfliteTensor

DTYPES = {
    "FLOAT32": "float32", "FLOAT16": "float16", "INT32": "int32", "UINT8": "uint8",
    "INT64": "int64", "STRING": "string", "BOOL": "bool", "INT16": "int16",
    "COMPLEX64": "complex64", "INT8": "int8", "FLOAT64": "float64", "COMPLEX128": "complex128",
    "UINT64": "uint64", "RESOURCE": "resource", "VARIANT": "variant", "UINT32": "uint32",
    "UINT16": "uint16", "INT4": "int4", "BFLOAT16": "bfloat16", "INT2": "int2", "UINT4": "uint4",
    "FLOAT8_E4M3FN": "float8_e4m3fn", "FLOAT8_E5M2": "float8_e5m2",
}  # fmt: skip
"""The neutral name of each TensorType of the schema."""

HANDLES = frozenset({"resource", "variant"})
"""Types that stand for a thing inside the interpreter and have no value."""

_PACKED = {"int4": 4, "uint4": 4, "int2": 2}


def stored_bytes(dtype: str, shape: tuple[int, ...]) -> int | None:
    """How many bytes a dense tensor takes in the file; None for strings."""
    if dtype == "string":
        return None
    count = math.prod(shape)
    if dtype in _PACKED:
        return -(-count * _PACKED[dtype] // 8)
    return count * numpy_dtype(dtype).itemsize


def decoded(tensor: TfliteTensor, raw: memoryview, sparsity: Any = None) -> Array:  # noqa: ANN401
    """The array that a constant's bytes stand for: a view unless it has to be unpacked."""
    if tensor.dtype == "string":
        return _strings(bytes(raw), tensor.shape)
    if not math.prod(tensor.shape):
        return np.zeros(tensor.shape, numpy_dtype(tensor.dtype))
    if tensor.dtype in _PACKED:
        values = _unpacked(raw, tensor.dtype, None if sparsity else math.prod(tensor.shape))
    else:
        values = np.frombuffer(raw, dtype=numpy_dtype(tensor.dtype))
    if sparsity is not None:
        return densified(values, sparsity, tensor.shape)
    return values.reshape(tensor.shape)


def packed(array: Array, dtype: str) -> bytes:
    """The bytes that the file keeps for an array; the inverse of ``decoded`` for dense ones."""
    if dtype == "string":
        return _string_bytes(array)
    if dtype not in _PACKED:
        return np.ascontiguousarray(array, dtype=numpy_dtype(dtype)).tobytes()
    width = _PACKED[dtype]
    each = 8 // width
    flat = array.reshape(-1).astype(np.int8).view(np.uint8) & ((1 << width) - 1)
    padded = np.zeros(-(-flat.size // each) * each, np.uint8)
    padded[: flat.size] = flat
    shifts = np.arange(each, dtype=np.uint8) * width
    return bytes(np.bitwise_or.reduce(padded.reshape(-1, each) << shifts, axis=1))


def _unpacked(raw: memoryview, dtype: str, count: int | None) -> Array:
    # The first element lies in the lowest bits.
    width = _PACKED[dtype]
    taken = np.frombuffer(raw, np.uint8)
    shifts = np.arange(8 // width, dtype=np.uint8) * width
    small = ((taken[:, None] >> shifts) & ((1 << width) - 1)).reshape(-1)[:count]
    if dtype.startswith("u"):
        return small.astype(numpy_dtype(dtype))
    half = 1 << (width - 1)
    return ((small.astype(np.int8) ^ half) - half).astype(numpy_dtype(dtype))


def _strings(raw: bytes, shape: tuple[int, ...]) -> Array:
    # A count, count + 1 offsets from the start, then the characters.
    count = int(np.frombuffer(raw, "<i4", 1)[0]) if raw else 0
    if not 0 <= count <= len(raw) // 4:
        raise ValueError(f"{count} strings in {len(raw)} bytes")
    offsets = np.frombuffer(raw, "<i4", count + 1, 4) if raw else np.zeros(1, np.int32)
    words = np.empty(count, object)
    for place in range(count):
        word = raw[offsets[place] : offsets[place + 1]]
        words[place] = word.decode("utf-8", "surrogateescape")
    return words.reshape(shape)


def _string_bytes(array: Array) -> bytes:
    words = [
        word if isinstance(word, bytes) else str(word).encode("utf-8", "surrogateescape")
        for word in array.reshape(-1)
    ]
    start = 4 * (len(words) + 2)
    ends = np.cumsum([start, *(len(word) for word in words)])
    return np.array([len(words), *ends], "<i4").tobytes() + b"".join(words)
