"""Nodes that lost a fused activation or bias.

The result of such a node equals a tensor of the reference, so it looks right and the next one looks
wrong. But if the reference continues with an activation that the node could have fused, or a bias
that it could have added, and no node of the candidate does so, the fault is in this node.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from isomorph.core.ops import BUILT_IN, FUSED, RESHAPES
from isomorph.match.dequantized_graph import implicit_grids, result_grids

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node
    from isomorph.match.topology import Topology

_ACTIVATIONS = frozenset(BUILT_IN.values())
_BIASED = frozenset({"Conv", "ConvTranspose", "Gemm"})
"""Operators that add a bias if they have that input."""
_BIAS = 2


def fusable_successors(
    maker: Node, reached: str, reference: Topology, *, idle: bool = False
) -> Iterator[str]:
    """Yield what the reference computes next from ``reached`` if ``maker`` could do it itself.

    An ``idle`` maker returns its input: it adds zero or multiplies by one.
    """
    for node in reference.readers.get(reached, ()):
        if node.op in RESHAPES:
            yield from fusable_successors(maker, node.outputs[0], reference, idle=idle)
            continue
        activates = node.op in _ACTIVATIONS and maker.attributes.get(FUSED) == "NONE"
        added = node.op in {"Add", "BiasAdd"} and len(reference.sources(node)) == 1
        adds = maker.op in _BIASED and len(maker.inputs) > _BIAS
        undone = idle and node.op == maker.op and len(reference.sources(node)) == 1
        if activates or (added and adds) or undone:
            yield node.outputs[0]


def activation_follows(tensor: str, candidate: Topology, counterpart: Node | None) -> bool:
    """Whether the next node of the candidate does the counterpart's fused activation.

    Then the counterpart's result is not the right value, although applying it twice is harmless.
    """
    built_in = str(counterpart.attributes.get(FUSED)) if counterpart is not None else ""
    readers = candidate.readers.get(tensor, ())
    return bool(readers) and all(node.op == BUILT_IN.get(built_in) for node in readers)


def rectified_tensors(graph: Graph) -> frozenset[str]:
    """Return the tensors whose quantization range starts at zero, which removes negatives."""
    lowest = {"int8": -128, "uint8": 0}
    grids = (implicit_grids(graph) or result_grids(graph)).items()
    return frozenset(
        name for name, grid in grids if set(grid.zero_point) == {lowest.get(grid.dtype)}
    )


def only_rectified(name: str, reference: Topology) -> bool:
    """Whether the reference only applies a ReLU or a Clip to a tensor."""
    readers = reference.readers.get(name, ())
    return bool(readers) and all(node.op in {"Relu", "Clip"} for node in readers)
