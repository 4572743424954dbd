"""Attributes of nodes as plain values, with the defaults that the file leaves out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import AttributeProto

from isomorph.core.digest import constant_of
from isomorph.frameworks.onnx.schemas import defaults
from isomorph.frameworks.onnx.scope import domain_of
from isomorph.frameworks.onnx.shapes import type_word
from isomorph.frameworks.onnx.stored_tensors import dense

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.frameworks.onnx.model import OnnxModel


def attributes_of(node: Any, version: int, model: OnnxModel) -> dict[str, Any]:  # noqa: ANN401
    """Numbers, words and tuples of them; a tensor as dtype, shape and values or digest."""
    stated = {entry.name: entry for entry in node.attribute}
    missing = defaults(domain_of(node), node.op_type, version)
    whole = {**missing, **stated}
    return {name: plain(whole[name], model) for name in sorted(whole) if not _is_graph(whole[name])}


def _is_graph(attribute: Any) -> bool:  # noqa: ANN401
    return bool(attribute.HasField("g") or attribute.graphs)


def plain(attribute: Any, model: OnnxModel) -> Any:  # noqa: ANN401
    """The value of one attribute."""
    kind = attribute.type
    if attribute.ref_attr_name:
        return f"@{attribute.ref_attr_name}"
    if kind == AttributeProto.FLOAT:
        return float(attribute.f)
    if kind == AttributeProto.INT:
        return int(attribute.i)
    if kind == AttributeProto.STRING:
        return word(attribute.s)
    if kind == AttributeProto.FLOATS:
        return tuple(float(item) for item in attribute.floats)
    if kind == AttributeProto.INTS:
        return tuple(int(item) for item in attribute.ints)
    if kind == AttributeProto.STRINGS:
        return tuple(word(item) for item in attribute.strings)
    if kind == AttributeProto.TENSOR:
        return _tensor(model.array(attribute.t))
    if kind == AttributeProto.TENSORS:
        return tuple(_tensor(model.array(item)) for item in attribute.tensors)
    if kind == AttributeProto.SPARSE_TENSOR:
        return _tensor(dense(attribute.sparse_tensor, model.array))
    if kind == AttributeProto.TYPE_PROTO:
        return type_word(attribute.tp)
    return None


def word(raw: bytes) -> str:
    """Text of a model; bytes that are not UTF-8 are spelled out."""
    return raw.decode("utf-8", "backslashreplace")


def _tensor(array: Array) -> dict[str, Any]:
    constant = constant_of("", array)
    described: dict[str, Any] = {"dtype": constant.dtype, "shape": constant.shape}
    if constant.values is None:
        described["digest"] = constant.digest
    else:
        described["values"] = constant.values
    return described


def constant_value(node: Any, model: OnnxModel) -> Array | None:  # noqa: ANN401
    """What a Constant node holds, in whichever of its attributes; None for any other node."""
    if node.op_type != "Constant" or domain_of(node) != "" or len(node.attribute) != 1:
        return None
    entry = node.attribute[0]
    if entry.name == "value":
        return model.array(entry.t)
    if entry.name == "sparse_value":
        return dense(entry.sparse_tensor, model.array)
    if entry.name in ("value_float", "value_floats"):
        return np.array(entry.floats if entry.name.endswith("s") else entry.f, np.float32)
    if entry.name in ("value_int", "value_ints"):
        return np.array(entry.ints if entry.name.endswith("s") else entry.i, np.int64)
    if entry.name in ("value_string", "value_strings"):
        words = [word(raw) for raw in (entry.strings or [entry.s])]
        return np.array(words if entry.name.endswith("s") else words[0], object)
    return None
