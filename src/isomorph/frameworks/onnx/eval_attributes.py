"""Attributes of an ONNX node as plain Python values, completed with its opset's defaults."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import onnx
from numpy.typing import NDArray
from onnx import AttributeProto

from isomorph.frameworks.onnx.stored_tensors import dense

Array = NDArray[Any]

Read = Callable[[onnx.TensorProto], Array]
"""How a stored tensor is read: from the proto, or from where its data lies."""


def schema_of(op: str, version: int, domain: str) -> Any:  # noqa: ANN401
    """The operator's definition at this opset, or None where ONNX has none."""
    try:
        return onnx.defs.get_schema(op, version, domain)
    except onnx.defs.SchemaError:
        return None


def bind(
    node: onnx.NodeProto,
    schema: Any,  # noqa: ANN401
    outer: Mapping[str, AttributeProto],
) -> dict[str, AttributeProto]:
    """The node's attributes, with references to its function's attributes resolved.

    An attribute that refers to one which the function was not given stays absent, or takes the
    operator's default.
    """
    bound: dict[str, AttributeProto] = {}
    if schema is not None:
        for name, declared in schema.attributes.items():
            default = declared.default_value
            # Some tensors default to one of type "undefined", which means absent.
            undefined = default.type == AttributeProto.TENSOR and not default.t.data_type
            if default.type != AttributeProto.UNDEFINED and not undefined:
                bound[name] = default
    for attribute in node.attribute:
        if not attribute.ref_attr_name:
            bound[attribute.name] = attribute
        elif attribute.ref_attr_name in outer:
            bound[attribute.name] = outer[attribute.ref_attr_name]
    return bound


def resolved(node: onnx.NodeProto, bound: Mapping[str, AttributeProto]) -> onnx.NodeProto:
    """A copy of the node that states all of its attributes itself."""
    complete = onnx.NodeProto()
    complete.CopyFrom(node)
    del complete.attribute[:]
    for name, proto in bound.items():
        attribute = complete.attribute.add()
        attribute.CopyFrom(proto)
        attribute.name = name
    return complete


def decode(bound: Mapping[str, AttributeProto], read: Read) -> dict[str, Any]:
    """Python values; graphs are left out, they belong to the control-flow operators."""
    values = {name: _value(proto, read) for name, proto in bound.items()}
    return {name: value for name, value in values.items() if value is not _NOT_PLAIN}


class _NotPlain:
    """Marks what is not a plain value."""


_NOT_PLAIN = _NotPlain()


def _value(proto: AttributeProto, read: Read) -> Any:  # noqa: ANN401
    if proto.type == AttributeProto.TENSOR:
        return read(proto.t)
    if proto.type == AttributeProto.SPARSE_TENSOR:
        return dense(proto.sparse_tensor, read)
    return _PLAIN[proto.type](proto) if proto.type in _PLAIN else _NOT_PLAIN


_PLAIN: dict[int, Any] = {
    AttributeProto.FLOAT: lambda proto: float(proto.f),
    AttributeProto.INT: lambda proto: int(proto.i),
    AttributeProto.STRING: lambda proto: proto.s.decode("utf-8", "surrogateescape"),
    AttributeProto.TYPE_PROTO: lambda proto: proto.tp,
    AttributeProto.FLOATS: lambda proto: tuple(float(item) for item in proto.floats),
    AttributeProto.INTS: lambda proto: tuple(int(item) for item in proto.ints),
    AttributeProto.STRINGS: lambda proto: tuple(
        item.decode("utf-8", "surrogateescape") for item in proto.strings
    ),
}
