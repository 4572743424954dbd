"""Nodes that read packed weights, and where the real numbers of these can be put in their place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.core.graph_facts import once_per_graph
from isomorph.match.blocked_weights import PRODUCT, TABLE, block_along
from isomorph.match.byte_products import byte_products
from isomorph.match.stated_blocks import read_in_blocks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isomorph.core.model import Graph, Node


@once_per_graph
def packed_readers(graph: Graph) -> Mapping[str, str]:
    """Return the tensor that takes real numbers, by the node that reads the packed ones.

    A product of packed weights and a packed table take them as their constant, every other node as
    its result. A product may quantize its other factor when it runs: that moves runs, and no graph.
    """
    found = {node.name: fed for node in graph.nodes if (fed := _taken(graph, node))}
    found.update((node.name, fed) for node in graph.nodes for _, fed in read_in_blocks(graph, node))
    found.update(
        (each.cast.name, each.cast.outputs[0]) for each in byte_products(graph) if each.scale
    )
    return found


def _taken(graph: Graph, node: Node) -> str:
    if node.op == PRODUCT:
        return node.inputs[1]
    if node.op == TABLE:
        return node.inputs[0] if node.inputs[0] in graph.constants else ""
    stored = graph.constants.get(node.input(0)) if node.op == "DequantizeLinear" else None
    in_blocks = stored is not None and block_along(node, len(stored.shape))[1] > 0
    return node.outputs[0] if in_blocks else ""
