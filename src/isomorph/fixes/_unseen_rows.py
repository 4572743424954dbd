"""A mask that fills with minus infinity, so that a row that sees no key has no numbers.

Exporters write what PyTorch does with such a row, zeros in the place of no numbers, and fill the
mask with the largest finite number below zero all the same: the zeros are then never put in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.messages import message
from isomorph.core.patch import Patch, SetConstant
from isomorph.inputs.masks import UNSEEN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isomorph.core.fault_context import FaultContext


def filled_with_infinity(context: FaultContext) -> Iterator[Patch]:
    """Minus infinity for the finite number of each mask, where the nodes replace what is none."""
    if not any(node.op == "IsNaN" for node in context.nodes):
        return
    filled = (node for node in context.nodes if node.op == "Where")
    for name in dict.fromkeys(name for node in filled for name in node.inputs[1:]):
        value = context.constant(context.candidate, name)
        if value is None or value.size != 1 or value.dtype.kind != "f":
            continue
        if np.isfinite(value).all() and float(value.item()) <= UNSEEN:
            yield Patch(
                summary=message("PATCH.number", name=name, now=f"{value.item():g}", right="-inf"),
                edits=(SetConstant(tensor=name, value=np.full_like(value, -np.inf)),),
            )
