"""Inputs of a node that could stand in each other's place."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node


def exchanges(graph: Graph, node: Node) -> Iterator[tuple[str, ...]]:
    """The node's inputs with two of them exchanged, for every two of one shape.

    For operators that know their inputs by place: scale and mean of a norm, the two states of a
    recurrent layer, the two branches of a choice.
    """
    for left, right in combinations(range(len(node.inputs)), 2):
        names = node.inputs[left], node.inputs[right]
        shapes = [_shape(graph, name) for name in names]
        if names[0] == names[1] or shapes[0] is None or shapes[0] != shapes[1]:
            continue
        order = list(node.inputs)
        order[left], order[right] = names[1], names[0]
        yield tuple(order)


def _shape(graph: Graph, name: str) -> tuple[int | str | None, ...] | None:
    held = graph.constants.get(name)
    if held is not None:
        return tuple(held.shape)
    spec = graph.tensors.get(name) if name else None
    return tuple(spec.shape) if spec is not None and spec.shape is not None else None
