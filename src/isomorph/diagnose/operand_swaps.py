"""Inputs of a node that could stand in each other's place."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING

from isomorph.core.patch import SetInput

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


def outputs_exchanged(
    graph: Graph, node: Node
) -> Iterator[tuple[tuple[int, int], tuple[SetInput, ...]]]:
    """For every two outputs of a node, the edits by which their readers read the other one."""
    bound = {spec.name for spec in graph.outputs}
    places = [place for place, name in enumerate(node.outputs) if name and name not in bound]
    for left, right in combinations(places, 2):
        other = {node.outputs[left]: node.outputs[right], node.outputs[right]: node.outputs[left]}
        edits = tuple(
            SetInput(node=reader.name, index=index, tensor=other[name])
            for reader in graph.nodes
            for index, name in enumerate(reader.inputs)
            if name in other
        )
        if edits:
            yield (left, right), edits


def _shape(graph: Graph, name: str) -> tuple[int | str | None, ...] | None:
    constant = graph.constants.get(name)
    if constant is not None:
        return tuple(constant.shape)
    spec = graph.tensors.get(name) if name else None
    return tuple(spec.shape) if spec is not None and spec.shape is not None else None
