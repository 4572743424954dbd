"""Quantization of data that differs between corresponding nodes, found without running anything.

In some formats the scale and the zero point belong to a tensor, and are no constants of the graph.
They are compared as if they were attributes of the node that writes the tensor: an input has to
show that they matter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.match.attributes import AttributeDifference, paired_nodes
from isomorph.match.quantizers import changed_parameters, quantization_by_tensor
from isomorph.match.stored_weights import reads_grids

if TYPE_CHECKING:
    from isomorph.core.model import Model, Quantization

_NAME = "quantization"


def grid_differences(reference: Model, candidate: Model) -> list[AttributeDifference]:
    """Return the nodes whose results both models quantize alike, but for the scale or zero."""
    if reference.framework != candidate.framework:
        return []
    here, there = (quantization_by_tensor(side.graph) for side in (reference, candidate))
    found = []
    for node, counterpart in paired_nodes(reference.graph, candidate.graph):
        if reads_grids(node) or reads_grids(counterpart):
            continue  # scales that are constants have counterparts of their own
        for name, other in zip(node.outputs, counterpart.outputs, strict=False):
            actual, expected = there.get(name), here.get(other)
            if actual is None or expected is None or expected.dtype != actual.dtype:
                continue
            if changed_parameters(expected, actual):
                difference = AttributeDifference(
                    node=node, counterpart=counterpart, name=_NAME,
                    expected=_stated(expected), actual=_stated(actual),
                )  # fmt: skip
                found.append(difference)
    return found


def _stated(grid: Quantization) -> str:
    scales = ", ".join(f"{each:.6g}" for each in grid.scale)
    zeros = ", ".join(map(str, grid.zero_point))
    return f"scale {scales} and zero point {zeros}"
