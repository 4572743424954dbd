"""Halves rounded the other way, where nodes of the graph do the rounding."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.messages import message
from isomorph.core.patch import (
    AddConstant,
    Edit,
    InsertAhead,
    InsertBehind,
    Patch,
    SetInput,
    SetOp,
)
from isomorph.diagnose.parameters import dtype_of, unused_name
from isomorph.diagnose.rounding_ties import rounding_places

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.model import Node

# How halves go: the operator, the amount added before it, and whether signs are kept apart.
_FORMS = {
    "to even": ("Round", 0.0, False),
    "up": ("Floor", 0.5, False),
    "down": ("Ceil", -0.5, False),
    "away from zero": ("Floor", 0.5, True),
    "to zero": ("Ceil", -0.5, True),
}


def halves(context: FaultContext, meant: str | None = None) -> Iterator[Patch]:
    """Every way to round halves in the place of the one that the candidate has.

    ``meant`` is the way of the reference, where it is known; it is tried first.
    """
    ways = sorted(_FORMS, key=lambda way: way != meant)
    for node, source in rounding_places(context):
        for way in ways:
            yield Patch(
                summary=message("PATCH.ties", op=node.op, node=node.name, way=way),
                edits=tuple(_edits(context, node, source, way)),
            )


def _edits(context: FaultContext, node: Node, source: str, way: str) -> Iterator[Edit]:
    op, amount, signed = _FORMS[way]
    if node.inputs[0] != source:
        yield SetInput(node=node.name, index=0, tensor=source)
    if node.op != op:
        yield SetOp(node=node.name, op=op)
    if signed:
        name = unused_name(context, f"{node.name}_size")
        yield InsertAhead(node=node.name, index=0, op="Abs", name=name)
    if amount:
        constant = unused_name(context, f"{node.outputs[0]}_half")
        yield AddConstant(
            name=constant,
            value=np.asarray(amount, dtype_of(context, source) or np.dtype(np.float32)),
        )
        name = unused_name(context, f"{node.name}_moved")
        yield InsertAhead(node=node.name, index=0, op="Add", name=name, inputs=("", constant))
    if signed:
        name = unused_name(context, f"{node.name}_signed")
        yield InsertBehind(tensor=node.outputs[0], op="Mul", name=name, inputs=("", source))
        sign = unused_name(context, f"{node.name}_sign")
        yield InsertAhead(node=name, index=1, op="Sign", name=sign)
