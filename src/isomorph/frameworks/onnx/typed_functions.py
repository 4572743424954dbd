"""Bodies of those ONNX functions that depend on the types of the call's inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx

from isomorph.oracle.dtypes import ONNX_DTYPES

InputType = tuple[str | None, tuple[int, ...] | None]
"""The element type and shape of an input, each None where it has none."""

_NUMBERS = {name: number for number, name in ONNX_DTYPES.items()}


def expanded(
    node: onnx.NodeProto,
    schema: Any,  # noqa: ANN401
    version: int,
    inputs: Sequence[InputType],
) -> onnx.FunctionProto:
    """The function body for these input types, in the newest form the opset allows."""
    types = [_type_proto(dtype, shape) for dtype, shape in inputs]
    usable = [v for v in schema.context_dependent_function_opset_versions if v <= version]
    body = onnx.FunctionProto()
    body.ParseFromString(
        schema.get_context_dependent_function_with_opset_version(
            max(usable), node.SerializeToString(), [proto.SerializeToString() for proto in types]
        )
    )
    return body


def _type_proto(dtype: str | None, shape: tuple[int, ...] | None) -> onnx.TypeProto:
    proto = onnx.TypeProto()
    if dtype is not None:
        proto.tensor_type.elem_type = _NUMBERS[dtype]
        for size in shape or ():
            proto.tensor_type.shape.dim.add().dim_value = size
    return proto
