"""Arrays into ONNX Runtime and out of it, the types that NumPy has not included."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from isomorph.core.errors import UsageError
from isomorph.frameworks.onnx.stored_tensors import bits_of, dtype_name, element_type, unpacked

if TYPE_CHECKING:
    from isomorph.core.model import TensorSpec
    from isomorph.core.trace import Array, Value

# What ONNX Runtime calls the types for which its Python package has no NumPy array.
FOREIGN = {
    "bfloat16": onnx.TensorProto.BFLOAT16,
    "float8e4m3fn": onnx.TensorProto.FLOAT8E4M3FN,
    "float8e4m3fnuz": onnx.TensorProto.FLOAT8E4M3FNUZ,
    "float8e5m2": onnx.TensorProto.FLOAT8E5M2,
    "float8e5m2fnuz": onnx.TensorProto.FLOAT8E5M2FNUZ,
    "int4": onnx.TensorProto.INT4,
    "uint4": onnx.TensorProto.UINT4,
    "int2": getattr(onnx.TensorProto, "INT2", -1),
    "uint2": getattr(onnx.TensorProto, "UINT2", -1),
}


def type_proto(value: Value, spec: TensorSpec | None, name: str) -> Any:  # noqa: ANN401
    """The declared type of a graph input that will be fed with ``value``."""
    make = onnx.helper.make_tensor_type_proto
    if isinstance(value, np.ndarray):
        return make(_element_type(value, name), None)
    dtype = spec.dtype if spec is not None else None
    if isinstance(value, (list, tuple)):
        number = _element_type(np.asarray(value[0]), name) if value else element_type(dtype or "")
        return onnx.helper.make_sequence_type_proto(make(number or onnx.TensorProto.FLOAT, None))
    number = element_type(dtype or "") or onnx.TensorProto.FLOAT
    return onnx.helper.make_optional_type_proto(make(number, None))


def as_value(given: Any) -> Value:  # noqa: ANN401
    """Arrays, sequences and None as they are; a bare number as an array without axes."""
    if given is None or isinstance(given, (np.ndarray, list, tuple)):
        return given
    return np.asarray(given)


def check_feed(name: str, value: Value, spec: TensorSpec | None) -> None:
    """A fed array has the declared element type; nothing is converted in silence."""
    if not isinstance(value, np.ndarray) or spec is None or spec.dtype is None:
        return
    got = "string" if value.dtype.kind in "OUS" else value.dtype.name
    if spec.kind == "tensor" and got != spec.dtype:
        raise UsageError(
            "FEED_DTYPE",
            f"tensor {name!r} is declared {spec.dtype} and was fed {got}",
            fix=f"convert the array: array.astype({spec.dtype!r})",
        )


def feedable(value: Value) -> bool:
    """Whether ONNX Runtime takes this value from Python without a copy or a guess."""
    if not isinstance(value, np.ndarray):
        return False
    number = element_type(value.dtype.name)
    return number is not None and bits_of(number) >= 8


def fed(ort: Any, value: Value) -> Any:  # noqa: ANN401
    """What ``InferenceSession.run`` takes for a value; the value itself is not changed."""
    if not isinstance(value, np.ndarray):
        return [np.asarray(item, order="C") for item in value] if value is not None else None
    whole = np.require(value, requirements=["C", "A"])
    if whole.dtype.name not in _foreign_names():
        return whole
    return ort_value(ort, whole)


def ort_value(ort: Any, array: Array) -> Any:  # noqa: ANN401
    """An OrtValue over the array's own memory, where its layout allows that."""
    whole = np.require(array, requirements=["C", "A"])
    number = element_type(whole.dtype.name)
    if whole.dtype.name not in _foreign_names():
        return ort.OrtValue.ortvalue_from_numpy(whole)
    if bits_of(number or 0) < 8:
        raise UsageError(
            "FEED_DTYPE",
            f"ONNX Runtime takes no {whole.dtype.name} array from Python",
            fix="feed a tensor before the quantizer instead",
        )
    raw = whole.view(np.uint16 if whole.dtype.itemsize == 2 else np.uint8)
    return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(raw, number)


def foreign_outputs(session: Any, fetch: Sequence[str]) -> dict[str, int]:  # noqa: ANN401
    """Those of the fetched outputs that NumPy cannot hold, with their ONNX element type."""
    found: dict[str, int] = {}
    for output in session.get_outputs():
        kind = output.type.removeprefix("tensor(").removesuffix(")")
        if output.name in fetch and kind in FOREIGN:
            found[output.name] = FOREIGN[kind]
    return found


def fetched(
    ort: Any,  # noqa: ANN401
    session: Any,  # noqa: ANN401
    feeds: Mapping[str, Any],
    fetch: Sequence[str],
) -> dict[str, Value]:
    """Run once and return every output, whatever its type."""
    foreign = foreign_outputs(session, fetch)
    if not foreign:
        return dict(zip(fetch, session.run(list(fetch), dict(feeds)), strict=True))
    tensors = {item.name for item in session.get_outputs() if item.type.startswith("tensor(")}
    direct = [name for name in fetch if name in tensors]
    given = {
        name: value if isinstance(value, ort.OrtValue) else ort.OrtValue.ortvalue_from_numpy(value)
        for name, value in feeds.items()
    }
    values = session.run_with_ort_values(direct, given)
    found: dict[str, Value] = {
        name: _copied(value, foreign[name]) if name in foreign else value.numpy()
        for name, value in zip(direct, values, strict=True)
    }
    # Sequences and optionals have no OrtValue that can be read, so they take a second run.
    rest = [name for name in fetch if name not in tensors]
    if rest:
        found.update(zip(rest, session.run(rest, dict(feeds)), strict=True))
    return {name: found[name] for name in fetch}


def _copied(value: Any, number: int) -> Array:  # noqa: ANN401
    shape = tuple(int(size) for size in value.shape())
    bits = bits_of(number)
    size = (math.prod(shape) * bits + 7) // 8
    raw = np.frombuffer(ctypes.string_at(value.data_ptr(), size), np.uint8).copy()
    if bits < 8:
        return unpacked(raw, number, shape)
    target = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(number))
    return np.asarray(raw.view(target).reshape(shape))


def _foreign_names() -> frozenset[str]:
    return frozenset(dtype_name(number) or "" for number in FOREIGN.values())


def _element_type(array: Array, name: str) -> int:
    dtype = "string" if array.dtype.kind in "OUS" else array.dtype.name
    number = element_type(dtype)
    if number is None:
        raise UsageError("FEED_DTYPE", f"tensor {name!r} was fed {dtype}, which ONNX has not")
    return number
