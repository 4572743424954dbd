"""The nodes around a fault, nearest first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from isomorph.core.repair_limits import NODES_AFTER_FAULT, NODES_BEFORE_FAULT

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.model import Node


def neighbors(context: FaultContext, *, depth: int = NODES_BEFORE_FAULT) -> Iterator[Node]:
    """The faulty nodes, then the nodes up to ``depth`` before them, nearest first."""
    maker = {name: node for node in context.candidate.nodes for name in node.outputs}
    seen = {node.name for node in context.nodes}
    yield from context.nodes
    layer = list(context.nodes)
    for _ in range(depth):
        before = [maker[name] for node in layer for name in node.inputs if name in maker]
        layer = []
        for node in before:
            if node.name not in seen and node.op != "Constant":
                seen.add(node.name)
                layer.append(node)
                yield node


def readers(context: FaultContext, *, depth: int = NODES_AFTER_FAULT) -> Iterator[Node]:
    """The nodes up to ``depth`` behind the wrong tensor, nearest first."""
    layer, seen = {context.tensor}, {node.name for node in context.nodes}
    for _ in range(depth):
        found = [node for node in context.candidate.nodes if set(node.inputs) & layer]
        layer = {name for node in found for name in node.outputs}
        for node in found:
            if node.name not in seen:
                seen.add(node.name)
                yield node
