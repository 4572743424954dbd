"""Stored numbers as bytes, those of types narrower than a byte one behind the other."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from isomorph.kernels import quantized
from isomorph.oracle.dtypes import numpy_dtype

if TYPE_CHECKING:
    from isomorph.core.trace import Array

PACKED = {
    "uint1": 1, "uint2": 2, "uint3": 3, "uint4": 4, "int4": 4, "uint6": 6, "float4_e2m1fn": 4,
}  # fmt: skip
"""Types narrower than a byte, with their bits: the lowest bits are those of the first number."""


def stored_bytes(dtype: str, shape: tuple[int, ...]) -> int:
    """How many bytes a stored tensor takes."""
    count = math.prod(shape)
    if dtype in PACKED:
        return -(-count * PACKED[dtype] // 8)
    return count * (1 if dtype == "bool" else numpy_dtype(dtype).itemsize)


def decoded(raw: Array, dtype: str, shape: tuple[int, ...]) -> Array:
    """Bytes as the numbers that they stand for; unsigned ones narrower than a byte are bytes."""
    if dtype in PACKED:
        fields = unpacked(raw, PACKED[dtype], math.prod(shape))
        if dtype == "int4":
            fields = ((fields ^ 8).astype(np.int8) - 8).astype(numpy_dtype(dtype))
        elif not dtype.startswith("uint"):
            fields = fields.view(numpy_dtype(dtype))
        return np.asarray(fields.reshape(shape))
    if dtype == "bool":
        return np.asarray(raw != 0).reshape(shape)
    target = numpy_dtype(dtype)
    little = target.newbyteorder("<") if target.kind in "iuf" else target
    numbers: Array = raw.view(little).reshape(shape)
    return numbers


def encoded(array: Array, dtype: str) -> bytes:
    """The inverse of ``decoded``."""
    if dtype not in PACKED:
        whole = array.astype(np.uint8) if dtype == "bool" else array
        return np.ascontiguousarray(whole).tobytes()
    flat = np.ascontiguousarray(array).reshape(-1)
    integers = flat.astype(np.int8) if "int" in dtype else flat
    bits = np.unpackbits(integers.view(np.uint8).reshape(-1, 1), axis=1, bitorder="little")
    return np.packbits(bits[:, : PACKED[dtype]].reshape(-1), bitorder="little").tobytes()


def unpacked(raw: Array, bits: int, count: int) -> Array:
    """So many fields of bits, lowest bits first, as bytes."""
    return np.asarray(quantized.unpacked(raw, bits)[:count], np.uint8)
