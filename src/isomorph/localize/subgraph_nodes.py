"""Map the nodes of an extracted body to their names in the whole model.

A framework that exports the body again gives its nodes new names and sources. The operators and
their order stay the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from isomorph.localize.loop_steps import prefix_of
from isomorph.match.topology import Topology

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class SubgraphNames:
    """Full names of nodes, and the body's names of tensors, by their names when extracted."""

    prefix: str
    nodes: Mapping[str, Node] = field(default_factory=dict)
    tensors: Mapping[str, str] = field(default_factory=dict)

    def node(self, name: str) -> str:
        """Return the full name of a node, including one in a nested body."""
        holder, slash, rest = name.partition("/")
        if name in self.nodes:
            return self.nodes[name].name
        if slash and holder in self.nodes:
            return f"{self.nodes[holder].name}/{rest}"
        return f"{self.prefix}{name}"

    def in_part(self, name: str) -> str | None:
        """Return the extracted name of a node's full name; None if it is elsewhere."""
        for own, node in self.nodes.items():
            if name == node.name or name.startswith(f"{node.name}/"):
                return own + name[len(node.name) :]
        return name.removeprefix(self.prefix) if name.startswith(self.prefix) else None

    def tensor(self, name: str) -> str:
        """Return the body's name of a tensor."""
        return self.tensors.get(name, name)

    def source(self, name: str) -> Source | None:
        """Return the location of a node in the user's program."""
        return self.nodes[name].source if name in self.nodes else None


def subgraph_names(part: Graph, holder: Node, key: str) -> SubgraphNames:
    """Match the nodes of an extracted body with those of the body, by operator order."""
    body, prefix = holder.bodies[key], prefix_of(holder, key)
    needed = _needed(body)
    inner = [node for node in body.nodes if any(name in needed for name in node.outputs)]
    nodes = {}
    if [n.native_op for n in inner] == [n.native_op for n in part.nodes]:
        nodes = {cut.name: node for cut, node in zip(part.nodes, inner, strict=True)}
    else:
        own = {node.name: node for node in body.nodes}
        nodes = {n.name: own[full] for n in part.nodes if (full := f"{prefix}{n.name}") in own}
    tensors = {
        cut: whole.removeprefix(prefix)
        for node in part.nodes
        if node.name in nodes
        # An extracted body may omit optional outputs.
        for cut, whole in zip(node.outputs, nodes[node.name].outputs, strict=False)
    }
    return SubgraphNames(prefix=prefix, nodes=nodes, tensors=tensors)


def _needed(body: Graph) -> set[str]:
    """Return the outputs of a body and all tensors that they are computed from."""
    needed = {spec.name for spec in body.outputs}
    for node in reversed(body.nodes):
        if any(name in needed for name in node.outputs):
            needed.update(Topology.reads(node))
    return needed
