"""Why a tensor is large: the nodes behind it, back to where its numbers grow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from isomorph.core.ranges import TrailStep
from isomorph.core.search_limits import TRAIL_STEPS

if TYPE_CHECKING:
    from isomorph.core.model import Graph


def magnitude_trail(
    graph: Graph, tensor: str, magnitudes: Mapping[str, float]
) -> tuple[TrailStep, ...]:
    """The steps behind a tensor, nearest first: each node, and the largest tensor that it reads.

    ``magnitudes`` are the largest absolute values of tensors that were measured; what has none
    (constants, integers) ends the trail.
    """
    makers = {name: node for node in graph.nodes for name in node.outputs if name}
    steps: list[TrailStep] = []
    while (node := makers.get(tensor)) is not None and len(steps) < TRAIL_STEPS.most:
        read = {name: magnitudes[name] for name in node.inputs if name in magnitudes}
        operand = max(read, key=lambda name: read[name], default=None)
        steps.append(
            TrailStep(
                tensor=tensor,
                node=node.name,
                op=node.op,
                magnitude=magnitudes[tensor],
                operand=operand,
                operand_magnitude=None if operand is None else read[operand],
            )
        )
        if operand is None:
            break
        tensor = operand
    else:
        if tensor in makers:
            TRAIL_STEPS.reached()
    return tuple(steps)
