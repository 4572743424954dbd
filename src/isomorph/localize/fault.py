"""The result of the search for faulty nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.ops import GATES
from isomorph.match.quantizers import float_operator
from isomorph.sessions.fetched_feeds import Source, as_type

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.core.trace import Array
    from isomorph.match.axis_layout import Rearrangement


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A place where the candidate is wrong although everything before it is right.

    ``node`` computes ``tensor``, whose right value is ``counterpart`` of the reference, rearranged
    by ``moved``. ``nodes`` are all nodes between the last right tensors and this one. ``shape`` is
    the shape of the wrong tensor. ``permuted``: the values are right, but in the wrong order.
    ``share`` is how much of the output error disappears when this tensor alone is corrected.
    ``where`` describes which elements of the tensor are wrong. ``right_without_grids``: without any
    grid of integers the tensor is right.
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
    right_without_grids: bool = False
    proven: bool = False
    share: float | None = None
    where: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultChain:
    """The faults in graph order, and whether they explain every wrong output."""

    faults: tuple[Fault, ...]
    explained: bool
    left_over: tuple[str, ...] = ()


NO_FAULTS = FaultChain(faults=(), explained=True)
"""The result where nothing is wrong."""


def placed_value(moved: Rearrangement, value: Array, like: Array) -> Array:
    """A value of the reference with the candidate's order of axes and the type of ``like``."""
    placed: Array = Source(name="", arrange=moved.array, convert=as_type(like.dtype)).made_of(value)
    return placed


def repeated(value: Array) -> bool:
    """Whether all elements are one integer or truth value, which equals others by accident."""
    whole = value.dtype.kind in "iub" and value.size > 0
    return whole and not np.any(value != value.flat[0])


def likeliest_node(group: Sequence[Node], known: Sequence[Node], counterpart: Node | None) -> Node:
    """Choose the faulty node of a group.

    Prefer a node that is already faulty by another output, then one with the counterpart's
    operator, then a loop that stands for a recurrent layer, then the last one.
    """
    names = {node.name for node in known}
    again = [node for node in group if node.name in names]
    if again or counterpart is None:
        return again[0] if again else group[-1]
    same = [node for node in group if node.op == counterpart.op]
    # The nodes after an integer product scale it and add the bias; they have no counterpart.
    same = same or [node for node in group if _product(node.op) == _product(counterpart.op)]
    if counterpart.op in GATES:
        same = same or [node for node in group if node.bodies]
    return same[-1] if same else group[-1]


def _product(op: str) -> str:
    return "MatMul" if float_operator(op) == "Gemm" else float_operator(op)
