"""A patch applied to a copy of an ONNX model. The model itself is never changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import onnx

from isomorph.core.errors import UsageError
from isomorph.frameworks.onnx.edit_graph import Editor
from isomorph.frameworks.onnx.model import OnnxModel, model_of
from isomorph.frameworks.onnx.opset_upgrade import in_turn, raise_opset
from isomorph.frameworks.onnx.scope import graphs, topological
from isomorph.frameworks.onnx.validate import validate

if TYPE_CHECKING:
    from isomorph.core.patch import Patch
    from isomorph.core.trace import Array

_LIGHT = 4096
"""Initializers of more bytes than this stay with the original while a patch is only tried."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PatchedGraph:
    """A patched graph for one trial: large weights that nobody changed lie in the original."""

    proto: Any
    original: OnnxModel
    kept: frozenset[str]

    @property
    def outline(self) -> Any:  # noqa: ANN401
        """The graph without its large weights, which is all that there is of it."""
        return self.proto

    def array(self, tensor: Any) -> Array:  # noqa: ANN401
        """The value of a stored tensor."""
        if tensor.name in self.kept and _header_only(tensor):
            return self.original.array(self.original.stored[tensor.name])
        return self.original.array(tensor)


def _header_only(tensor: Any) -> bool:  # noqa: ANN401
    # A Constant node may hold a tensor of the same name, and that one has its values.
    return {field.name for field, _ in tensor.ListFields()} <= {"name", "data_type", "dims"}


def patched(model: OnnxModel, patch: Patch) -> OnnxModel:
    """A whole copy with the patch applied, valid by our own rules."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model.proto)
    _edit(copy, model, patch)
    return model_of(copy, path=model.path, folder=model.folder, trusted=model.trusted)


def patched_in_memory(model: OnnxModel, patch: Patch) -> PatchedGraph:
    """A copy of the graph alone, good enough to compute a few tensors of it."""
    copy = onnx.ModelProto(ir_version=model.proto.ir_version)
    copy.opset_import.extend(model.proto.opset_import)
    copy.functions.extend(model.proto.functions)
    source, graph = model.proto.graph, copy.graph
    graph.name = source.name
    for field in ("node", "input", "output", "value_info", "sparse_initializer"):
        getattr(graph, field).extend(getattr(source, field))
    kept = set()
    for tensor in source.initializer:
        if tensor.ByteSize() > _LIGHT:
            graph.initializer.add(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
            kept.add(tensor.name)
        else:
            graph.initializer.add().CopyFrom(tensor)
    changed = _edit(copy, model, patch)
    return PatchedGraph(proto=copy, original=model, kept=frozenset(kept - changed))


def _edit(proto: Any, model: OnnxModel, patch: Patch) -> set[str]:  # noqa: ANN401
    """Apply every edit in turn; the constants that were given a value."""
    editor = Editor(proto, model)
    version = editor.versions.get("", 1)
    now, newer, later = in_turn(patch.edits, editor.ops(), version)
    editor.apply_all(now)
    _sort_all(proto.graph)
    if newer > version:
        raise_opset(proto, newer)
        editor = Editor(proto, model, retyped=editor.retyped, stored=editor.stored)
        editor.apply_all(later)
        _sort_all(proto.graph)
    for part in graphs(proto.graph):
        _forget_types(part, editor.retyped)
    validate(proto, file=str(model.path or "the patched model"))
    return editor.stored


def _sort_all(graph: Any) -> None:  # noqa: ANN401
    for part in graphs(graph):
        _sort(part)


def _sort(graph: Any) -> None:  # noqa: ANN401
    """Nodes in an order in which they can run: what was inserted may read what comes later."""
    order, stuck = topological(graph.node)
    if stuck:
        raise UsageError(
            "PATCH_CYCLE",
            "the patch lets a node depend on its own result",
            why=f"node {graph.node[stuck[0]].name!r} comes after itself",
        )
    if order != list(range(len(order))):
        nodes = [onnx.NodeProto.FromString(graph.node[i].SerializeToString()) for i in order]
        del graph.node[:]
        graph.node.extend(nodes)


def _forget_types(graph: Any, changed: set[str]) -> None:  # noqa: ANN401
    """Drop what the file declared of tensors that may now have another type or shape."""
    stale = set(changed)
    for node in graph.node:
        if any(name in stale for name in node.input):
            stale.update(name for name in node.output if name)
    kept = [value for value in graph.value_info if value.name not in stale]
    if len(kept) != len(graph.value_info):
        copies = [onnx.ValueInfoProto.FromString(value.SerializeToString()) for value in kept]
        del graph.value_info[:]
        graph.value_info.extend(copies)
