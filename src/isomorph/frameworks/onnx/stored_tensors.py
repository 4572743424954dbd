"""Stored tensors: what they declare, whether their bytes agree, and their values."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import TensorProto

from isomorph.core.errors import UnreadableModelError

if TYPE_CHECKING:
    from isomorph.core.trace import Array

LARGEST = (1 << 63) - 1

# Which repeated field holds the values where they are not raw, and how many of its
# entries one element takes; packed types hold several elements in one byte.
_TYPED_FIELD = {
    TensorProto.FLOAT: ("float_data", 1), TensorProto.COMPLEX64: ("float_data", 2),
    TensorProto.DOUBLE: ("double_data", 1), TensorProto.COMPLEX128: ("double_data", 2),
    TensorProto.INT64: ("int64_data", 1), TensorProto.UINT64: ("uint64_data", 1),
    TensorProto.UINT32: ("uint64_data", 1), TensorProto.STRING: ("string_data", 1),
}  # fmt: skip


@cache
def dtype_name(data_type: int) -> str | None:
    """The NumPy or ml_dtypes name of an ONNX element type; None for a number ONNX has not."""
    if data_type == TensorProto.STRING:
        return "string"
    if data_type == TensorProto.UNDEFINED:
        return None
    try:
        return str(np.dtype(onnx.helper.tensor_dtype_to_np_dtype(data_type)).name)
    except KeyError:
        return None


@cache
def element_type(dtype: str) -> int | None:
    """The ONNX element type of a dtype name, or None."""
    return next((number for number in _numbers() if dtype_name(number) == dtype), None)


@cache
def _numbers() -> tuple[int, ...]:
    return tuple(TensorProto.DataType.values())


@cache
def bits_of(data_type: int) -> int:
    """How many bits one element takes in a file (4 for int4, although NumPy uses 8)."""
    name = dtype_name(data_type) or ""
    for suffix, bits in (("int4", 4), ("int2", 2), ("float4_e2m1fn", 4)):
        if name.endswith(suffix):
            return bits
    return int(np.dtype(onnx.helper.tensor_dtype_to_np_dtype(data_type)).itemsize) * 8


def stored_bytes(tensor: Any) -> int:  # noqa: ANN401
    """How many bytes the declared type and shape take, with integers that never overflow."""
    return int(math.prod(tensor.dims) * bits_of(tensor.data_type) + 7) // 8


def check_declared(tensor: Any, *, file: str, where: str) -> None:  # noqa: ANN401
    """The element type exists and the shape is one that memory could hold."""
    place = f"{where} tensor {tensor.name!r}"
    if dtype_name(tensor.data_type) is None:
        raise UnreadableModelError(
            "BAD_DTYPE",
            f"element type {tensor.data_type} does not exist",
            file=file,
            where=place,
            why="ONNX numbers its element types, and this number is not one of them",
            fix="export the model again; the file is damaged or was made for another format",
        )
    dims = [int(size) for size in tensor.dims]
    if any(size < 0 for size in dims) or math.prod(dims) * 16 > LARGEST:
        raise UnreadableModelError(
            "BAD_DIMS",
            f"dimensions {dims} cannot be those of a stored tensor",
            file=file,
            where=place,
            why="a size is negative"
            if any(size < 0 for size in dims)
            else f"{math.prod(dims)} elements are more than any memory holds",
            fix="export the model again",
        )


def check_size(tensor: Any, *, file: str, where: str) -> None:  # noqa: ANN401
    """A tensor inside the file holds exactly as much as its type and shape declare."""
    count = math.prod(tensor.dims)
    declared, got, unit = stored_bytes(tensor), 0, "bytes"
    if tensor.HasField("raw_data"):
        got = len(tensor.raw_data)
    else:
        field, each = _TYPED_FIELD.get(tensor.data_type, ("int32_data", 1))
        got, unit = len(getattr(tensor, field)), "values"
        bits = bits_of(tensor.data_type) if field == "int32_data" else 8
        declared = count * each if bits >= 8 else declared
    if got != declared:
        raise UnreadableModelError(
            "TENSOR_SIZE_MISMATCH",
            f"declared {declared} {unit}, got {got}",
            file=file,
            where=f"{where} tensor {tensor.name!r}",
            why=f"type {dtype_name(tensor.data_type)} and shape {list(tensor.dims)} take "
            f"{declared} {unit}",
            fix="export the model again; the weights are incomplete",
        )


def inline_array(tensor: Any) -> Array:  # noqa: ANN401
    """The values of a tensor that lies inside the file."""
    return np.asarray(onnx.numpy_helper.to_array(tensor))


def unpacked(packed: Array, data_type: int, shape: tuple[int, ...]) -> Array:
    """Elements of 4 or 2 bits, one per byte of ml_dtypes, from the bytes that pack them."""
    bits, count = bits_of(data_type), math.prod(shape)
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    pieces = (packed.reshape(-1, 1) >> shifts) & np.uint8((1 << bits) - 1)
    target = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(data_type))
    codes: Array = pieces.reshape(-1)[:count]
    if target.name.startswith("int"):
        # Sign-extend: ml_dtypes reads the low bits, but comparisons of bytes should agree too.
        codes = (codes << (8 - bits)).view(np.int8) >> (8 - bits)
    return np.asarray(np.ascontiguousarray(codes).view(target).reshape(shape))


def dense(sparse: Any, read: Callable[[Any], Array]) -> Array:  # noqa: ANN401
    """A sparse tensor with its zeros written out; ``read`` returns the array of a tensor."""
    values, indices = read(sparse.values), read(sparse.indices)
    shape = tuple(int(size) for size in sparse.dims)
    full = np.zeros(shape, values.dtype)
    if indices.ndim == 1:
        full.reshape(-1)[indices] = values
    else:
        full[tuple(indices.T)] = values
    return full
