"""Limits of activations that only one of two graphs has, found without running anything.

A limit may be an operator of its own in one framework and built into a layer in another. Only its
number is compared, so a limit without an equal says nothing by itself: an input has to show it.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.ops import BUILT_IN_LIMITS, FUSED
from isomorph.match.topology import Topology
from isomorph.oracle.noise import unit_roundoff
from isomorph.registry import operator_tables

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node

_LARGEST = 1.0 / unit_roundoff("float32")
"""A larger limit is none: it stands for infinity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivationLimit:
    """A node whose result is never larger than ``limit``."""

    node: Node
    tensor: str
    limit: float


def limits_of_one_side(reference: Graph, candidate: Graph) -> tuple[list[ActivationLimit], ...]:
    """Return the limits of each graph, the reference's first, that the other has fewer of."""
    sides = [_limits(reference), _limits(candidate)]
    counts = [Counter(np.float32(each.limit) for each in side) for side in sides]
    return tuple(
        [
            each
            for each in side
            if counts[place][np.float32(each.limit)] > other[np.float32(each.limit)]
        ]
        for place, (side, other) in enumerate(zip(sides, counts[::-1], strict=True))
    )


def _limits(graph: Graph) -> list[ActivationLimit]:
    live = Topology(graph).live
    found = []
    for node in graph.nodes:
        limit = _limit(graph, node)
        if node.outputs and node.outputs[0] in live and 0.0 < limit < _LARGEST:
            found.append(ActivationLimit(node=node, tensor=node.outputs[0], limit=limit))
    return found


def _limit(graph: Graph, node: Node) -> float:
    """Return the largest number that a node lets through; infinite where there is none."""
    built_in = node.attributes.get(FUSED)
    if built_in in BUILT_IN_LIMITS:
        return BUILT_IN_LIMITS[built_in]
    if node.op == "Min":
        return min((_number(graph, name) for name in node.inputs), default=math.inf)
    if node.op != "Clip":
        return math.inf
    stated = [node.attributes.get(word) for word in ("max", "max_val")]
    numbers = [float(each) for each in stated if isinstance(each, (int, float))]
    if len(node.inputs) > 2 and node.inputs[2]:
        numbers.append(_number(graph, node.inputs[2]))
    return min(numbers) if numbers else _own_limit(graph, node)


def _own_limit(graph: Graph, node: Node) -> float:
    """Return the limit of an operator that states none."""
    bounds = operator_tables(graph.framework).clip_bounds
    return bounds.get(node.native_op, (-math.inf, math.inf))[1]


def _number(graph: Graph, name: str) -> float:
    constant = graph.constants.get(name)
    values = constant.values if constant is not None else None
    single = values is not None and len(values) == 1 and not isinstance(values[0], (str, bool))
    return float(values[0]) if values is not None and single else math.inf
