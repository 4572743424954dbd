"""Branches and selections put the right way round."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.diagnosis_limits import LOOP_ROUNDS
from isomorph.core.patch import InsertAhead, Patch, SetInput, SetOp, SwapBodies
from isomorph.diagnose.parameters import constant_edits, unused_name
from isomorph.fixes._neighbors import neighbors

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.model import Node
    from isomorph.core.report import Finding

_COMPARISONS = ("Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal")


class ControlFlow:
    """Branches or the operands of Where exchanged, a condition inverted, rounds counted again."""

    name = "control_flow"

    def propose(self, finding: Finding, context: FaultContext) -> Iterator[Patch]:
        """The node itself first, then what it decides upon."""
        for node in context.nodes:
            if node.op == "If":
                yield Patch(
                    summary=f"If {node.name!r}: branches exchanged",
                    edits=(SwapBodies(node=node.name),),
                )
            elif node.op == "Where":
                yield Patch(
                    summary=f"Where {node.name!r}: the two values exchanged",
                    edits=(
                        SetInput(node=node.name, index=1, tensor=node.inputs[2]),
                        SetInput(node=node.name, index=2, tensor=node.inputs[1]),
                    ),
                )
            elif node.op == "Loop":
                yield from _rounds(context, node)
        for node in neighbors(context, depth=2):
            if node.op in {"If", "Where"}:
                yield Patch(
                    summary=f"the condition of {node.op} {node.name!r} inverted",
                    edits=(
                        InsertAhead(
                            node=node.name,
                            index=0,
                            op="Not",
                            name=unused_name(context, f"{node.name}_not"),
                        ),
                    ),
                )
            elif node.op in _COMPARISONS:
                for op in _COMPARISONS:
                    if op != node.op:
                        yield Patch(
                            summary=f"{node.op} {node.name!r} replaced by {op}",
                            edits=(SetOp(node=node.name, op=op),),
                        )


def _rounds(context: FaultContext, node: Node) -> Iterator[Patch]:
    """As many rounds as the reference's loop runs, or a few more or fewer than now.

    The input that gives their number in the reference comes before any number.
    """
    count = node.inputs[0] if node.inputs else ""
    constant = context.candidate.constants.get(count)
    if constant is None or constant.values is None or len(constant.values) != 1:
        return
    now = int(constant.values[0])
    ref_counts = [
        each.inputs[0] for each in context.counterparts if each.op == "Loop" and each.inputs
    ]
    for name in filter(None, map(context.matching_tensor, filter(None, ref_counts))):
        yield Patch(
            summary=f"Loop {node.name!r}: its number of rounds is read from {name!r}",
            edits=(SetInput(node=node.name, index=0, tensor=name),),
        )
    known = [
        context.reference.constants[name].values
        for name in ref_counts
        if name in context.reference.constants
    ]
    stated = [int(values[0]) for values in known if values is not None and len(values) == 1]
    near = [now + step for by in range(1, LOOP_ROUNDS.most + 1) for step in (by, -by)]
    for rounds in dict.fromkeys([*stated, *near]):
        if rounds >= 0 and rounds != now:
            yield Patch(
                summary=f"Loop {node.name!r}: {rounds} rounds instead of {now}",
                edits=constant_edits(context, count, np.full(constant.shape, rounds)),
            )
    LOOP_ROUNDS.reached()
