"""A node that stops short: it could have gone on as the reference does, and did not.

Its result is one that the reference holds, so it looks right, and what lies behind it wrong. But
an activation that it may have built in, or a bias that it may add, is the next thing that the
reference does and nothing here does: the fault is in this node.
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
"""What adds a bias itself, if it has a place for one."""
_BIAS = 2


def gone_on_with(
    maker: Node, reached: str, reference: Topology, *, idle: bool = False
) -> Iterator[str]:
    """What the reference makes next of ``reached``, where ``maker`` could have made it itself.

    An ``idle`` maker hands on what it gets: a zero is added, or all is multiplied by one.
    """
    for node in reference.readers.get(reached, ()):
        if node.op in RESHAPES:
            yield from gone_on_with(maker, node.outputs[0], reference, idle=idle)
            continue
        activates = node.op in _ACTIVATIONS and maker.attributes.get(FUSED) == "NONE"
        added = node.op in {"Add", "BiasAdd"} and len(reference.sources(node)) == 1
        adds = maker.op in _BIASED and len(maker.inputs) > _BIAS
        undone = idle and node.op == maker.op and len(reference.sources(node)) == 1
        if activates or (added and adds) or undone:
            yield node.outputs[0]


def still_to_come(tensor: str, candidate: Topology, counterpart: Node | None) -> bool:
    """Whether the counterpart's built-in activation is done by the next node here.

    Then its result is not what this tensor should be, though an activation does no harm twice.
    """
    built_in = str(counterpart.attributes.get(FUSED)) if counterpart is not None else ""
    readers = candidate.readers.get(tensor, ())
    return bool(readers) and all(node.op == BUILT_IN.get(built_in) for node in readers)


def cut_at_zero(graph: Graph) -> frozenset[str]:
    """The tensors whose grid begins at zero: whatever is put there comes out without its minus."""
    lowest = {"int8": -128, "uint8": 0}
    grids = (implicit_grids(graph) or result_grids(graph)).items()
    return frozenset(
        name for name, grid in grids if set(grid.zero_point) == {lowest.get(grid.dtype)}
    )


def cut_next(name: str, reference: Topology) -> bool:
    """Whether all that the reference does with a tensor is to cut it off at zero."""
    readers = reference.readers.get(name, ())
    return bool(readers) and all(node.op in {"Relu", "Clip"} for node in readers)
