"""Between NumPy arrays and torch tensors, for every dtype that both can name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from isomorph.core.errors import UsageError
from isomorph.store.dtypes import dtype_of

if TYPE_CHECKING:
    from isomorph.core.trace import Array

# NumPy has no such types of its own; their bits travel as integers of the same width.
_BY_BITS: dict[torch.dtype, torch.dtype] = {
    torch.bfloat16: torch.int16,
    torch.float8_e4m3fn: torch.uint8,
    torch.float8_e5m2: torch.uint8,
    torch.float8_e4m3fnuz: torch.uint8,
    torch.float8_e5m2fnuz: torch.uint8,
}
_BY_NAME = {str(each).removeprefix("torch."): each for each in _BY_BITS}

FLOATS = frozenset({torch.float32, torch.float16, torch.bfloat16, torch.float64, *_BY_BITS})
"""Every real floating type."""

_DECLARABLE = {"int": "int64", "float": "float64", "bool": "bool"}


def dtype_name(dtype: torch.dtype | None, kind: str = "tensor") -> str | None:
    """The NumPy or ml_dtypes name; symbolic numbers count as the tensors they would be."""
    if dtype is None:
        return _DECLARABLE.get(kind)
    return str(dtype).removeprefix("torch.")


def _numpy_type(dtype: torch.dtype) -> np.dtype[Any]:
    return dtype_of(str(dtype).removeprefix("torch."))


def to_array(value: Any, *, copy: bool = True) -> Any:  # noqa: ANN401
    """A fresh array, or one of the same memory where that is possible and ``copy`` is false.

    Numbers become 0-d arrays, sequences lists; None stays None.
    """
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        return [to_array(item, copy=copy) for item in value]
    if not isinstance(value, torch.Tensor):
        return np.asarray(value)
    plain = value.detach().resolve_conj().resolve_neg().cpu()
    if plain.is_quantized:
        plain = plain.dequantize()
    if plain.layout is not torch.strided:
        plain = plain.to_dense()
    if plain.dtype in _BY_BITS:
        bits = plain.contiguous().view(_BY_BITS[plain.dtype]).numpy()
        return bits.view(_numpy_type(plain.dtype)).copy()
    return plain.numpy().copy() if copy else plain.numpy()


def stored_array(value: Any) -> Array | None:  # noqa: ANN401
    """The numbers of a narrow float tensor as they lie in memory; None where NumPy cannot read it.

    Float64 is as wide as it gets, and has nothing to be lifted.
    """
    if type(value) not in (torch.Tensor, torch.nn.Parameter) or value.dtype == torch.float64:
        return None
    if value.dtype not in FLOATS or value.layout is not torch.strided or not value.is_cpu:
        return None
    plain = value.detach()
    if plain.dtype in _BY_BITS:
        bits = plain.view(_BY_BITS[plain.dtype]).numpy()
        return np.asarray(bits.view(_numpy_type(plain.dtype)))
    return np.asarray(plain.numpy())


def to_tensor(array: Array) -> torch.Tensor:
    """A tensor with its own memory, so that whatever runs cannot reach the caller's array."""
    plain = np.ascontiguousarray(array).reshape(np.shape(array))
    if plain.dtype.name in _BY_NAME:
        dtype = _BY_NAME[plain.dtype.name]
        width = np.int16 if _BY_BITS[dtype] is torch.int16 else np.uint8
        return torch.from_numpy(plain.view(width).copy()).view(dtype)
    if plain.dtype.kind not in "biufc":
        raise UsageError(
            "UNSUPPORTED_DTYPE",
            f"torch has no tensors of type {plain.dtype.name}",
            fix="feed numbers or booleans",
        )
    native = plain.astype(plain.dtype.newbyteorder("="), copy=True)
    return torch.from_numpy(native)


def is_float(value: Any) -> bool:  # noqa: ANN401
    """Whether it is a tensor of a real floating type."""
    return isinstance(value, torch.Tensor) and value.is_floating_point()
