"""Operators that make tensors from shapes and stored values."""

from __future__ import annotations

import math

import numpy as np

from isomorph.kernels.data_movement import integers
from isomorph.kernels.registry import kernel
from isomorph.oracle.call import Call
from isomorph.oracle.dtypes import ONNX_DTYPES, numpy_dtype, type_name
from isomorph.oracle.noise import Array


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
