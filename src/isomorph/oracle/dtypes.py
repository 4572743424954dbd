"""Element types by name: how ONNX numbers them, which of them round, which holds which."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from isomorph.store.dtypes import dtype_of

ONNX_DTYPES: dict[int, str] = {
    1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64",
    8: "string", 9: "bool", 10: "float16", 11: "float64", 12: "uint32", 13: "uint64",
    14: "complex64", 15: "complex128", 16: "bfloat16", 17: "float8_e4m3fn",
    18: "float8_e4m3fnuz", 19: "float8_e5m2", 20: "float8_e5m2fnuz", 21: "uint4", 22: "int4",
    23: "float4_e2m1fn", 24: "float8_e8m0fnu", 25: "uint2", 26: "int2",
}  # fmt: skip
"""How ONNX numbers its element types, for the attributes that hold one."""

# Significand bits (with the hidden one) and exponent range: enough to know which holds which.
_FLOATS: dict[str, tuple[int, int]] = {
    "float4_e2m1fn": (2, 2),
    "float8_e8m0fnu": (1, 127),
    "float8_e4m3fn": (4, 8),
    "float8_e4m3fnuz": (4, 7),
    "float8_e5m2": (3, 15),
    "float8_e5m2fnuz": (3, 15),
    "float16": (11, 15),
    "bfloat16": (8, 127),
    "tf32": (11, 127),
    "float32": (24, 127),
    "float64": (53, 1023),
}

HALVES = frozenset(_FLOATS) - {"float32", "float64"}
"""Float types in which values are stored but arithmetic is not done: it is done in float32."""


def is_float(name: str | None) -> bool:
    """Whether a type of this name rounds."""
    return name in _FLOATS


def numpy_dtype(name: str) -> np.dtype[Any]:
    """NumPy's type of this name, or ml_dtypes' where NumPy has none; strings are objects."""
    if name == "string":
        return np.dtype(object)
    try:
        return dtype_of(name)
    except ValueError:
        return np.dtype(name)


def numeric(value: object) -> bool:
    """Whether a value is a tensor of real numbers (and not a sequence, text or nothing)."""
    return isinstance(value, np.ndarray) and (
        value.dtype.kind in "fiub" or "float" in str(value.dtype)
    )


def type_name(array: np.ndarray[Any, Any]) -> str:
    """The name under which the array's type is declared."""
    return _name_of(array.dtype)


@cache  # NumPy puts a name together anew each time, and every node asks for several
def _name_of(dtype: np.dtype[Any]) -> str:
    return "string" if dtype.kind in "OUST" else dtype.name


def holds(wide: str, narrow: str) -> bool:
    """Whether every value of float type ``narrow`` is a value of float type ``wide``."""
    return all(w >= n for w, n in zip(_FLOATS[wide], _FLOATS[narrow], strict=True))
