"""Cutting a graph: the sub-model that computes some tensors from some others."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import onnx

from isomorph.core.cutting import unknown_tensor, walk_back
from isomorph.frameworks.onnx.attributes import constant_value
from isomorph.frameworks.onnx.scope import graphs, reads, stored, topological, unnamed

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.frameworks.onnx.model import OnnxModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """What lies between feeds and fetches.

    ``nodes`` are indices in an order in which they run, ``stored`` the initializers they need,
    ``inputs`` the graph inputs they need although nobody feeds them.
    """

    nodes: tuple[int, ...]
    stored: frozenset[str]
    inputs: tuple[str, ...]


class Cutter:
    """Knows who makes and who reads each tensor of one model's top-level graph."""

    def __init__(self, model: OnnxModel) -> None:
        self.model = model
        graph = model.outline.graph
        self.order, _ = topological(graph.node)
        self.reads = [reads(node) for node in graph.node]
        self.maker = {
            name: index for index, node in enumerate(graph.node) for name in node.output if name
        }
        self.stored = frozenset(stored(graph))
        self.inputs = tuple(value.name for value in graph.input)
        self.outputs = tuple(value.name for value in graph.output)
        place = {index: position for position, index in enumerate(self.order)}
        self._position = {name: place[index] for name, index in self.maker.items()}

    @property
    def required(self) -> frozenset[str]:
        """The inputs that have no default value."""
        return frozenset(self.inputs) - self.stored

    def position(self, name: str) -> int:
        """How early a tensor is there: -1 for inputs and constants, else its node's place."""
        return self._position.get(name, -1)

    def constant(self, name: str) -> Array | None:
        """The value that the file stores under this name, as initializer or Constant node."""
        if name in self.stored:
            return self.model.initializer(name)
        index = self.maker.get(name)
        return (
            None
            if index is None
            else constant_value(self.model.outline.graph.node[index], self.model)
        )

    def check(self, names: Collection[str]) -> None:
        """Every name is a tensor of the top-level graph."""
        for name in names:
            if name not in self.maker and name not in self.stored and name not in self.inputs:
                known = [*self.inputs, *self.maker, *self.stored]
                raise unknown_tensor(name, known)

    def slice(self, feeds: Collection[str], fetch: Sequence[str]) -> Slice:
        """Walk back from what is fetched and stop at what is fed."""
        needed, ends = walk_back(fetch, feeds, self.maker.get, lambda index: self.reads[index])
        return Slice(
            nodes=tuple(index for index in self.order if index in needed),
            stored=frozenset(name for name in ends if name in self.stored),
            inputs=tuple(sorted(name for name in ends if name not in self.stored)),
        )

    def _fresh(self, name: str) -> str:
        fresh = f"{name}.replaced"
        while fresh in self.maker or fresh in self.stored or fresh in self.inputs:
            fresh += "."
        return fresh

    def build(
        self, piece: Slice, feeds: Mapping[str, Any], fetch: Sequence[str], name: str = "cut"
    ) -> Any:  # noqa: ANN401
        """A ModelProto with ``feeds`` (name → TypeProto) as inputs and ``fetch`` as outputs.

        External weights stay references, so that the result is small; who opens it hands
        them over. Outputs have no declared type: the runtime infers it, and refuses a wrong one.
        """
        source = self.model.outline
        cut = onnx.ModelProto(ir_version=max(source.ir_version, 4))
        cut.opset_import.extend(source.opset_import)
        cut.functions.extend(source.functions)
        graph = cut.graph
        graph.name = name
        for index in piece.nodes:
            node = graph.node.add()
            node.CopyFrom(source.graph.node[index])
            for position, output in enumerate(node.output):
                if output in feeds:
                    # Another output of this node is needed, and this one is replaced. It is
                    # renamed, not removed: ONNX Runtime crashes where a required one is absent.
                    node.output[position] = self._fresh(output)
        graph.initializer.extend(
            self.model.filled(tensor)
            for tensor in source.graph.initializer
            if tensor.name in piece.stored
        )
        graph.sparse_initializer.extend(
            sparse
            for sparse in source.graph.sparse_initializer
            if sparse.values.name in piece.stored
        )
        for fed, kind in feeds.items():
            graph.input.add(name=fed).type.CopyFrom(kind)
        for wanted in fetch:
            graph.output.add(name=wanted)
        rename_duplicates(graph)
        return cut


def rename_duplicates(graph: Any) -> int:  # noqa: ANN401
    """Give every node a name of its own, in place; how many were changed."""
    changed = 0
    for part in graphs(graph):
        taken: set[str] = set()
        for index, node in enumerate(part.node):
            if node.name and node.name in taken:
                node.name = f"{unnamed(node)}#{index}"
                changed += 1
            taken.add(node.name)
    return changed
