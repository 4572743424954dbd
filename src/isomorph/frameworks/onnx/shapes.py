"""Types and shapes of every tensor, as far as ONNX's own inference finds them.

Inference works on a skeleton: the graph without the values of large weights. So its cost
does not depend on their size, and a model over 2 GB is no special case.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import onnx

from isomorph.core.model import Dimension, TensorSpec
from isomorph.frameworks.onnx.external_data import is_external
from isomorph.frameworks.onnx.stored_tensors import dtype_name, stored_bytes

if TYPE_CHECKING:
    from isomorph.frameworks.onnx.model import OnnxModel

SMALL_BYTES = 1 << 16
"""A stored tensor up to this size may be the shape or the axes of something; values are kept."""

_REJECTED = (
    onnx.shape_inference.InferenceError, onnx.checker.ValidationError, ValueError, RuntimeError,
)  # fmt: skip
"""What inference raises of a model that contradicts itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inferred:
    """The graph with value_info filled in, and what inference could not do."""

    graph: Any
    notes: tuple[str, ...] = ()


def infer(model: OnnxModel) -> Inferred:
    """Run shape inference; a model that it rejects keeps what the file declares."""
    skeleton = _skeleton(model)
    notes: tuple[str, ...] = ()
    for strict in (True, False):
        try:
            inferred = onnx.shape_inference.infer_shapes(skeleton, strict_mode=strict)
        except _REJECTED as error:
            # Only the strict mode reports an error; the other continues after it.
            reason = " ".join(str(error).split())
            notes = notes or (f"shape inference found a contradiction: {reason}",)
        else:
            return Inferred(graph=inferred.graph, notes=notes)
    return Inferred(graph=skeleton.graph, notes=notes)


def _skeleton(model: OnnxModel) -> Any:  # noqa: ANN401
    source = model.outline
    bare = onnx.ModelProto(ir_version=source.ir_version)
    bare.opset_import.extend(source.opset_import)
    bare.functions.extend(source.functions)
    graph = source.graph
    bare.graph.name = graph.name
    for name in ("node", "input", "output", "value_info", "sparse_initializer"):
        getattr(bare.graph, name).extend(getattr(graph, name))
    for tensor in graph.initializer:
        bare.graph.initializer.append(_stub(tensor, model))
    for node in bare.graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                attribute.t.CopyFrom(_stub(attribute.t, model))
    return bare


def _stub(tensor: Any, model: OnnxModel) -> Any:  # noqa: ANN401
    small = stored_bytes(tensor) <= SMALL_BYTES
    if small and not is_external(tensor):
        return tensor
    if small:
        return onnx.numpy_helper.from_array(model.array(tensor), tensor.name)
    return onnx.TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)


def spec_of(value: Any) -> TensorSpec:  # noqa: ANN401
    """What a ValueInfoProto declares."""
    kind, dtype, shape = _type(value.type)
    return TensorSpec(name=value.name, dtype=dtype, shape=shape, kind=kind)


def type_word(proto: Any) -> str:  # noqa: ANN401
    """A TypeProto in one word, such as ``sequence(float32)``."""
    kind, dtype, _ = _type(proto)
    return f"{kind}({dtype})"


def _type(proto: Any) -> tuple[str, str | None, tuple[Dimension, ...] | None]:  # noqa: ANN401
    which = proto.WhichOneof("value")
    if which in ("sequence_type", "optional_type"):
        _, dtype, shape = _type(getattr(proto, which).elem_type)
        return which.removesuffix("_type"), dtype, shape
    if which == "map_type":
        return "map", _type(proto.map_type.value_type)[1], None
    if which not in ("tensor_type", "sparse_tensor_type"):
        return "tensor", None, None
    tensor = getattr(proto, which)
    shape = tuple(_size(size) for size in tensor.shape.dim) if tensor.HasField("shape") else None
    return "tensor", dtype_name(tensor.elem_type), shape


def _size(size: Any) -> Dimension:  # noqa: ANN401
    if size.HasField("dim_value"):
        # Some exporters write -1 or 0 with the meaning "any".
        return int(size.dim_value) if size.dim_value >= 0 else None
    return str(size.dim_param) or None
