"""What MLIR states as types, attributes and locations, as plain Python values."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from isomorph.core.model import Source
from isomorph.core.untrusted_json import read_json
from isomorph.frameworks.jax.program import JaxTensor
from isomorph.oracle.dtypes import numpy_dtype

_DTYPES = {
    "f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "i1": "bool",
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "ui8": "uint8",
    "ui16": "uint16", "ui32": "uint32", "ui64": "uint64", "i4": "int4", "ui4": "uint4",
    "i2": "int2", "ui2": "uint2", "index": "int64", "complex<f32>": "complex64",
    "complex<f64>": "complex128",
    "f8E4M3FN": "float8_e4m3fn", "f8E5M2": "float8_e5m2", "f8E4M3FNUZ": "float8_e4m3fnuz",
    "f8E5M2FNUZ": "float8_e5m2fnuz",
}  # fmt: skip

_WORD = re.compile(r"#stablehlo<\w+ ([\w<>]+)>")
_LITERAL = re.compile(r"dense<(.*)> : ", re.DOTALL)
_BITS = re.compile(r"0x[0-9A-Fa-f]+")

_NUMBERS = {
    "#stablehlo.dot<": stablehlo.DotDimensionNumbers,
    "#stablehlo.conv<": stablehlo.ConvDimensionNumbers,
    "#stablehlo.gather<": stablehlo.GatherDimensionNumbers,
    "#stablehlo.scatter<": stablehlo.ScatterDimensionNumbers,
}
"""Attributes that number axes."""
_NUMBERED = ("_dim", "_dims", "_dimension", "_dimensions", "_index_map")
"""How the names end of what they state."""


def tensor_of(name: str, kind: Any) -> JaxTensor | None:  # noqa: ANN401
    """What a type declares of a tensor; None for a type that is none."""
    if not isinstance(kind, ir.RankedTensorType):
        return None
    dtype = _DTYPES.get(str(kind.element_type))
    if dtype is None:
        return None
    shape = tuple(
        None if kind.is_dynamic_dim(axis) else kind.get_dim_size(axis) for axis in range(kind.rank)
    )
    return JaxTensor(name=name, dtype=dtype, shape=shape)


def array_of(attribute: Any) -> np.ndarray[Any, Any]:  # noqa: ANN401
    """The numbers of a stored tensor."""
    declared = tensor_of("", attribute.type)
    if declared is None:
        raise ValueError(f"a stored tensor of type {attribute.type}")
    try:
        return np.array(attribute)
    except (TypeError, ValueError, RuntimeError, NotImplementedError):
        # The bindings read the types that NumPy has itself.
        return _written(str(attribute), declared)


def _written(text: str, declared: JaxTensor) -> np.ndarray[Any, Any]:
    """Numbers as MLIR prints them: long ones as bytes, others one by one."""
    found = _LITERAL.search(text)
    if found is None:
        raise ValueError("a stored tensor without numbers")
    literal, dtype = found[1], numpy_dtype(declared.dtype)
    shape = tuple(size or 0 for size in declared.shape)
    if literal.startswith('"0x'):
        return np.frombuffer(bytes.fromhex(literal[3:-1]), dtype).reshape(shape)
    bits = np.dtype(f"u{dtype.itemsize}")

    def number(word: re.Match[str]) -> str:
        return repr(float(np.array(int(word[0], 16), bits).view(dtype))).replace("inf", "Infinity")

    plain = _BITS.sub(number, literal).replace("nan", "NaN")
    values = np.array(read_json(plain), np.float64).astype(dtype)
    return np.broadcast_to(values, shape).copy()


def plain(attribute: Any) -> Any:  # noqa: ANN401
    """An attribute as a number, a word, or a tuple of them."""
    if isinstance(attribute, (ir.BoolAttr, ir.IntegerAttr, ir.FloatAttr, ir.StringAttr)):
        return attribute.value
    if isinstance(attribute, ir.FlatSymbolRefAttr):
        return attribute.value
    if isinstance(attribute, ir.DenseElementsAttr):
        return _nested(array_of(attribute).tolist())
    if isinstance(attribute, ir.ArrayAttr):
        return tuple(plain(each) for each in attribute)
    if isinstance(attribute, ir.DictAttr):
        return {each.name: plain(each.attr) for each in attribute}
    if isinstance(attribute, (ir.DenseI64ArrayAttr, ir.DenseBoolArrayAttr)):
        return tuple(attribute)
    text = str(attribute)
    for prefix, kind in _NUMBERS.items():
        if text.startswith(prefix):
            numbers = kind(attribute)
            names = [name for name in dir(kind) if name.endswith(_NUMBERED)]
            return {name: _nested(getattr(numbers, name)) for name in names}
    word = _WORD.fullmatch(text)
    return word[1] if word else text


def _nested(value: Any) -> Any:  # noqa: ANN401
    return tuple(_nested(each) for each in value) if isinstance(value, list) else value


def name_in(location: Any) -> str:  # noqa: ANN401
    """The name that a location states; empty where it has none."""
    return str(location.name_str) if isinstance(location, ir.NameLoc) else ""


def source_of(location: Any) -> Source | None:  # noqa: ANN401
    """Where in the user's program an operation came from: the innermost line that is known."""
    text = name_in(location)
    module, line, file = text.rpartition("/")[0], None, None
    while location is not None:
        if isinstance(location, ir.FileLineColLoc):
            file, line = location.filename, location.start_line
            break
        location = _inner(location)
    if not text and file is None:
        return None
    return Source(
        module=module or None,
        file=None if file is None else str(getattr(file, "value", file)),
        line=line,
        text=text or None,
    )


def _inner(location: Any) -> Any:  # noqa: ANN401
    if isinstance(location, ir.NameLoc):
        return location.child_loc
    if isinstance(location, ir.CallSiteLoc):
        return location.callee
    if isinstance(location, ir.FusedLoc):
        return next(iter(location.locations), None)
    return None
