"""The nodes of a body that was cut out, as the whole model calls them.

A framework that exports the part anew gives its nodes names of its own, and its own place in a
program as their source. The operators and their order stay.
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
class Described:
    """Full names of nodes, and the body's own names of tensors, by what the part calls them."""

    prefix: str
    nodes: Mapping[str, Node] = field(default_factory=dict)
    tensors: Mapping[str, str] = field(default_factory=dict)

    def node(self, name: str) -> str:
        """The full name of a node; what lies in a body within keeps its way there."""
        holder, slash, rest = name.partition("/")
        if name in self.nodes:
            return self.nodes[name].name
        if slash and holder in self.nodes:
            return f"{self.nodes[holder].name}/{rest}"
        return f"{self.prefix}{name}"

    def in_part(self, name: str) -> str | None:
        """What the part calls the node of this full name; None where it lies elsewhere."""
        for own, node in self.nodes.items():
            if name == node.name or name.startswith(f"{node.name}/"):
                return own + name[len(node.name) :]
        return name.removeprefix(self.prefix) if name.startswith(self.prefix) else None

    def tensor(self, name: str) -> str:
        """The body's own name of a tensor."""
        return self.tensors.get(name, name)

    def source(self, name: str) -> Source | None:
        """Where the user wrote the node."""
        return self.nodes[name].source if name in self.nodes else None


def described(part: Graph, holder: Node, key: str) -> Described:
    """The part's nodes beside those of the body behind ``key``, by the order of their operators."""
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
        # A part that was cut out may leave optional outputs out.
        for cut, whole in zip(node.outputs, nodes[node.name].outputs, strict=False)
    }
    return Described(prefix=prefix, nodes=nodes, tensors=tensors)


def _needed(body: Graph) -> set[str]:
    """The tensors that the outputs of a body are computed from, and these themselves."""
    needed = {spec.name for spec in body.outputs}
    for node in reversed(body.nodes):
        if any(name in needed for name in node.outputs):
            needed.update(Topology.reads(node))
    return needed
