"""Rows of an attention whose mask hides every key: what they hold differs between definitions.

The weights of such a row have no sum to be divided by. PyTorch returns zeros; a softmax of equal
scores returns the mean of all values. A row that sees a single key is the same by both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.escaping import counted
from isomorph.core.fault_context import Certainty, Diagnosis
from isomorph.core.messages import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isomorph.core.fault_context import FaultContext
    from isomorph.core.trace import Array

_MASK = 3
"""Which input of an attention hides its keys."""


def hidden_rows(context: FaultContext) -> Diagnosis | None:
    """The diagnosis where the rows that see no key are wrong, and no other row is."""
    if context.wrong.shape != context.right.shape:
        return None
    for hidden in _hidden(context):
        try:
            rows = np.broadcast_to(hidden[..., np.newaxis], context.right.shape)
        except ValueError:
            continue
        # Without these rows nothing is left to explain, and all of them hold zeros on one side.
        if not rows.any() or not context.equals(np.where(rows, context.right, context.wrong)):
            continue
        zeros = [not np.any(each[rows]) for each in (context.right, context.wrong)]
        if zeros[0] == zeros[1]:
            continue
        count = int(hidden.sum())
        code = "missing_op.hidden_rows" if zeros[0] else "missing_op.hidden_rows_zero"
        return Diagnosis(
            cause="missing_op",
            certainty=Certainty.EVIDENT,
            summary=message(code, rows=counted(count, "row")),
            evidence={"rows_without_a_key": count},
            fix=message("FIX.hidden_rows" if zeros[0] else "FIX.hidden_rows_zero"),
        )
    return None


def _hidden(context: FaultContext) -> Iterator[Array]:
    """Where the mask of each attention, on either side, leaves a row without any key."""
    sides = ((context.reference, context.counterparts), (context.candidate, context.nodes))
    for graph, nodes in sides:
        for node in nodes:
            name = node.inputs[_MASK] if node.op == "Attention" and len(node.inputs) > _MASK else ""
            if not name:
                continue
            mask = context.value(graph, name)
            if mask is None:
                mask = context.constant(graph, name)
            spec = graph.tensors.get(name)
            if mask is not None and mask.ndim >= 2 and spec is not None and spec.dtype == "bool":
                yield np.asarray(~mask.astype(bool).any(axis=-1))
