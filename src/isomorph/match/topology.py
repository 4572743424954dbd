"""The maker and the readers of each tensor of a graph, and what depends on the inputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node


class Topology:
    """A graph with its edges, each computed once."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.order = {name: place for place, name in enumerate(self._names(graph))}

    @staticmethod
    def _names(graph: Graph) -> Iterator[str]:
        yield from (spec.name for spec in graph.inputs)
        for node in graph.nodes:
            yield from (name for name in node.outputs if name)

    @cached_property
    def maker(self) -> dict[str, Node]:
        """The node that computes each tensor."""
        return {name: node for node in self.graph.nodes for name in node.outputs if name}

    @cached_property
    def readers(self) -> dict[str, list[Node]]:
        """The nodes that read each tensor, including those whose bodies capture it."""
        readers: dict[str, list[Node]] = {}
        for node in self.graph.nodes:
            for name in dict.fromkeys(self.reads(node)):
                readers.setdefault(name, []).append(node)
        return readers

    @cached_property
    def live(self) -> frozenset[str]:
        """The tensors that depend on an input of the graph."""
        live = {spec.name for spec in self.graph.inputs}
        for node in self.graph.nodes:
            if any(name in live for name in self.reads(node)):
                live.update(name for name in node.outputs if name)
        return frozenset(live)

    @staticmethod
    def reads(node: Node) -> tuple[str, ...]:
        """Return the inputs of a node and whatever its bodies read from outside."""
        if not node.bodies:
            return tuple(name for name in node.inputs if name)
        return (*(n for n in node.inputs if n), *_captured(node))

    def sources(self, node: Node) -> tuple[str, ...]:
        """Return the inputs of a node that depend on the graph's inputs."""
        return tuple(dict.fromkeys(name for name in self.reads(node) if name in self.live))

    def below(self, names: Iterable[str]) -> set[str]:
        """Return every tensor that depends on one of these, without these themselves."""
        found: set[str] = set()
        reached = set(names)
        for node in self.graph.nodes:
            if any(name in reached for name in self.reads(node)):
                outputs = {name for name in node.outputs if name}
                reached |= outputs
                found |= outputs
        return found

    def above(self, name: str, *, until: Iterable[str] = ()) -> set[str]:
        """Return every live tensor that ``name`` depends on, not going past ``until``."""
        stop, found, open_ends = set(until), set(), [name]
        while open_ends:
            maker = self.maker.get(open_ends.pop())
            if maker is None:
                continue
            for source in self.sources(maker):
                if source not in found and source not in stop:
                    found.add(source)
                    open_ends.append(source)
        return found


def _captured(node: Node) -> Iterator[str]:
    for body in node.bodies.values():
        own = {spec.name for spec in body.inputs} | set(body.constants)
        for inner in body.nodes:
            yield from (name for name in Topology.reads(inner) if name and name not in own)
            own |= set(inner.outputs)
        yield from (spec.name for spec in body.outputs if spec.name not in own)
