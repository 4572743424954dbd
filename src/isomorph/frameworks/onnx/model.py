"""A loaded ONNX model: the graph in memory, large weights where they lie."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph.frameworks.onnx.external_data import Place, is_external, locate, mapped
from isomorph.frameworks.onnx.lazy_weights import Left
from isomorph.frameworks.onnx.scope import graphs
from isomorph.frameworks.onnx.stored_tensors import bits_of, dense, inline_array

if TYPE_CHECKING:
    from isomorph.core.model import Graph
    from isomorph.core.trace import Array

_LARGE = 1 << 20
_BYTE = 8
"""Bits of an element, at least, of a tensor that is a view of its file."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OnnxModel:
    """What ``Model.native`` holds for ONNX. Nobody changes ``proto``; copies are edited.

    ``path`` is the user's file where there is one, and ``folder`` where its external data
    lies. ``proto`` keeps external tensors external. ``outline`` is the same graph, of which large
    tensors may be ``left`` in the file: who asks for ``proto`` gets them read.
    """

    outline: Any
    path: Path | None = None
    folder: Path | None = None
    trusted: bool = False
    stored: Mapping[str, Any] = field(default_factory=dict)
    left: Left | None = None
    _views: dict[tuple[Place, int, tuple[int, ...]], Array] = field(default_factory=dict)
    """Of large tensors outside the file: to map one again reads its pages anew at each use."""

    @property
    def proto(self) -> Any:  # noqa: ANN401
        """The whole model."""
        return self.outline if self.left is None else self.left.whole(self.outline)

    def with_file_offsets(self, graph: Graph) -> Graph:
        """Return the description with the places of the constants that lie in the file."""
        starts = {} if self.left is None else self.left.starts
        constants = {
            name: replace(each, file_offset=starts.get(name))
            for name, each in graph.constants.items()
        }
        return replace(graph, constants=constants) if starts else graph

    def filled(self, tensor: Any) -> Any:  # noqa: ANN401
        """A tensor of the outline with its values in it, unless they lie outside the file."""
        return tensor if self.left is None else self.left.filled(tensor)

    def initializer(self, name: str) -> Array:
        """The value of a top-level initializer; a view of the file for external data."""
        tensor = self.stored[name]
        if hasattr(tensor, "indices"):
            return dense(tensor, self.array)
        return self.array(tensor)

    def array(self, tensor: Any) -> Array:  # noqa: ANN401
        """The value of any stored tensor of this model."""
        if self.left is not None and self.left.holds(tensor):
            return self.left.array(tensor)
        if not is_external(tensor):
            return inline_array(tensor)
        place = locate(tensor, self.folder, file=str(self.path or ""), trusted=self.trusted)
        if place.size < _LARGE or not is_mapped(tensor):
            return mapped(place, tensor)
        key = place, int(tensor.data_type), tuple(int(size) for size in tensor.dims)
        if key not in self._views:
            self._views[key] = mapped(place, tensor)
        return self._views[key]


def is_mapped(tensor: Any) -> bool:  # noqa: ANN401
    """Whether the values of a tensor are a view of another file, which holds no memory."""
    return is_external(tensor) and bits_of(tensor.data_type) >= _BYTE


def model_of(
    proto: Any,  # noqa: ANN401
    *,
    path: Path | None = None,
    folder: Path | None = None,
    trusted: bool = False,
    left: Left | None = None,
) -> OnnxModel:
    """Wrap a ModelProto, with its initializers found by name; large ones may be ``left``."""
    home = folder if folder is not None else (path.parent if path is not None else None)
    stored = _stored(proto)
    return OnnxModel(
        outline=proto, path=path, folder=home, trusted=trusted, stored=stored, left=left
    )


def _stored(proto: Any) -> dict[str, Any]:  # noqa: ANN401
    stored = {tensor.name: tensor for tensor in proto.graph.initializer}
    stored.update({sparse.values.name: sparse for sparse in proto.graph.sparse_initializer})
    return stored


def stored_tensors(proto: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    """Every tensor that holds values, wherever it is, and a word on where that is."""
    for part in (proto.graph, *proto.functions):
        for graph in graphs(part):
            # A function has nodes like a graph, but no initializers.
            for tensor in getattr(graph, "initializer", ()):
                yield "initializer", tensor
            for sparse in getattr(graph, "sparse_initializer", ()):
                yield "sparse initializer values", sparse.values
                yield "sparse initializer indices", sparse.indices
            yield from _in_attributes(graph.node)


def _in_attributes(nodes: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    for node in nodes:
        for attribute in node.attribute:
            where = f"node {node.name or node.op_type!r} attribute {attribute.name!r}"
            if attribute.HasField("t"):
                yield where, attribute.t
            for tensor in attribute.tensors:
                yield where, tensor
            if attribute.HasField("sparse_tensor"):
                yield where, attribute.sparse_tensor.values
                yield where, attribute.sparse_tensor.indices
