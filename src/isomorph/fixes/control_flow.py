"""Branches and selections put the right way round."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.diagnosis_limits import LOOP_ROUNDS
from isomorph.core.messages import message
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
                    summary=message("PATCH.swap_branches", op=node.op, node=node.name),
                    edits=(SwapBodies(node=node.name),),
                )
            elif node.op == "Where":
                yield Patch(
                    summary=message("PATCH.swap_values", node=node.name),
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
                    summary=message("PATCH.invert", op=node.op, node=node.name),
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
                            summary=message("PATCH.replace", op=node.op, node=node.name, right=op),
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
            summary=message("PATCH.rounds_from", node=node.name, tensor=name),
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
                summary=message("PATCH.rounds", node=node.name, right=rounds, now=now),
                edits=constant_edits(context, count, np.full(constant.shape, rounds)),
            )
    LOOP_ROUNDS.reached()
