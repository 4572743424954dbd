"""The part of a graph between a quantized tensor and the quantized tensors before it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantizedRegion:
    """The nodes that compute one tensor, and everything that they read."""

    nodes: tuple[str, ...]
    feeds: tuple[str, ...]
    constants: tuple[str, ...]


class QuantizedRegions:
    """A graph that is cut at its quantized tensors, the ``boundaries``.

    Every output of a node that computes a boundary is one too: a dynamic quantizer returns its
    scale and zero point with its integers, and the three belong together.
    """

    def __init__(self, graph: Graph, boundaries: frozenset[str]) -> None:
        self._graph = graph
        self._makers: dict[str, Node] = {
            name: node for node in graph.nodes for name in node.outputs if name
        }
        self.boundaries = boundaries | {
            name
            for node in graph.nodes
            if boundaries.intersection(node.outputs)
            for name in node.outputs
            if name
        }

    def maker(self, tensor: str) -> Node | None:
        """The node that computes it; None for an input or a constant."""
        return self._makers.get(tensor)

    def of(self, tensor: str) -> QuantizedRegion:
        """Return the region between ``tensor`` and the boundaries before it."""
        nodes: dict[str, None] = {}
        feeds: dict[str, None] = {}
        constants: dict[str, None] = {}
        maker = self.maker(tensor)
        open_ends = [maker] if maker is not None else []
        while open_ends:
            node = open_ends.pop()
            if node.name in nodes:
                continue
            nodes[node.name] = None
            for name in _reads(node):
                before = self.maker(name)
                if name in self._graph.constants:
                    constants[name] = None
                elif name in self.boundaries or before is None:
                    feeds[name] = None
                else:
                    open_ends.append(before)
        return QuantizedRegion(nodes=tuple(nodes), feeds=tuple(feeds), constants=tuple(constants))


def _reads(node: Node) -> list[str]:
    """List the inputs of a node, and what its bodies capture from outside."""
    names = [name for name in node.inputs if name]
    for body in node.bodies.values():
        inside = {name for each in body.nodes for name in each.outputs}
        inside |= {spec.name for spec in body.inputs} | set(body.constants)
        names += [
            name for each in body.nodes for name in _reads(each) if name and name not in inside
        ]
    return names
