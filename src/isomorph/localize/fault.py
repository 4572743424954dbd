"""What the search for guilty nodes finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from isomorph.match.quantizers import float_operator

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.core.trace import Array
    from isomorph.match.axis_layout import Rearrangement


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One place where the candidate goes wrong although everything before it is right.

    ``node`` makes ``tensor``, whose right value is ``counterpart`` of the reference, brought into
    place by ``moved``. ``nodes`` are all that lie between the last right tensors and this one.
    ``shape`` is the one that the tensor has now. ``permuted``: the right values are there, in the
    wrong order. ``share`` is how much of the output error vanishes when this alone is put right.
    ``where`` says in which of its elements the tensor is wrong.
    """

    node: str
    nodes: tuple[str, ...]
    tensor: str
    counterpart: str
    reference_nodes: tuple[str, ...]
    moved: Rearrangement
    value: Array = field(repr=False, compare=False)
    local_error: float
    shape: tuple[int, ...] | None = None
    permuted: bool = False
    proven: bool = False
    share: float | None = None
    where: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultChain:
    """The guilty places, in the order of the graph, and whether they explain everything."""

    faults: tuple[Fault, ...]
    explained: bool
    left_over: tuple[str, ...] = ()


NOBODY = FaultChain(faults=(), explained=True)
"""Where nothing is wrong."""


def likeliest(group: Sequence[Node], known: Sequence[Node], counterpart: Node | None) -> Node:
    """One that is wrong already by another output; else the one like the reference's; the last."""
    names = {node.name for node in known}
    again = [node for node in group if node.name in names]
    if again or counterpart is None:
        return again[0] if again else group[-1]
    same = [node for node in group if node.op == counterpart.op]
    # What follows a product of integers scales it, adds the bias, and has no counterpart.
    same = same or [node for node in group if _product(node.op) == _product(counterpart.op)]
    return same[-1] if same else group[-1]


def _product(op: str) -> str:
    return "MatMul" if float_operator(op) == "Gemm" else float_operator(op)
