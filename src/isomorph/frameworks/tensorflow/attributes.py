"""Attributes of TensorFlow nodes as plain values, with the operator's defaults filled in."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

_QUANTIZED = {"qint8": "int8", "quint8": "uint8", "qint16": "int16", "quint16": "uint16",
              "qint32": "int32"}  # fmt: skip
_FIELDS = {
    "s": "s", "i": "i", "f": "f", "b": "b", "type": "type", "shape": "shape",
    "tensor": "tensor", "func": "func",
}  # fmt: skip


def dtype_name(number: int) -> str:
    """``float32`` for DT_FLOAT; the quantized types by the integers that store them."""
    name = str(tf.dtypes.as_dtype(number).base_dtype.name)
    return _QUANTIZED.get(name, name)


def array_of(tensor: Any) -> np.ndarray[Any, Any]:  # noqa: ANN401
    """The array that a ``TensorProto`` holds."""
    array: np.ndarray[Any, Any] = tf.make_ndarray(tensor)
    return array


def attributes_of(definition: Any) -> dict[str, Any]:  # noqa: ANN401
    """Every declared attribute by name; those that begin with ``_`` are TensorFlow's own notes."""
    values = dict(_defaults(definition.op))
    for name, value in definition.attr.items():
        if not name.startswith("_"):
            values[name] = plain(value)
    # A map of protobuf comes in another order each time.
    return dict(sorted(values.items()))


def functions_of(attributes: dict[str, Any]) -> dict[str, str]:
    """The functions that a node's attributes name: ``body``, ``cond``, ``branches[0]`` …"""
    found = {}
    for name, value in attributes.items():
        for key, item in (
            ((f"{name}[{place}]", item) for place, item in enumerate(value))
            if isinstance(value, tuple)
            else ((name, value),)
        ):
            if isinstance(item, FunctionName):
                found[key] = str(item)
    return found


class FunctionName(str):
    """The name of a function in the program, as an attribute's value."""

    __slots__ = ()


@cache
def _defaults(op: str) -> tuple[tuple[str, Any], ...]:
    declared = op_def_registry.get(op)
    if declared is None:
        return ()
    return tuple(
        (attr.name, plain(attr.default_value))
        for attr in declared.attr
        if attr.HasField("default_value")
    )


def plain(value: Any) -> Any:  # noqa: ANN401
    """An ``AttrValue``: dtypes by name, shapes as tuples (None: unknown rank), lists as tuples."""
    kind = value.WhichOneof("value")
    if kind == "list":
        for name in _FIELDS:
            items = getattr(value.list, name)
            if items:
                return tuple(_one(name, item) for item in items)
        return ()
    return None if kind is None else _one(kind, getattr(value, kind))


def _one(kind: str, value: Any) -> Any:  # noqa: ANN401
    if kind == "s":
        return value.decode("utf-8", "backslashreplace")
    if kind == "type":
        return dtype_name(value) if value else None
    if kind == "shape":
        return shape_of(value)
    if kind == "tensor":
        return array_of(value)
    if kind == "func":
        return FunctionName(value.name)
    return value


def shape_of(proto: Any) -> tuple[int | None, ...] | None:  # noqa: ANN401
    """A ``TensorShapeProto``; None where not even the rank is known."""
    if proto.unknown_rank:
        return None
    return tuple(None if dim.size < 0 else int(dim.size) for dim in proto.dim)
