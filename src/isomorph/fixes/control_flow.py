"""Branches and selections put the right way round."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from isomorph.core.patch import InsertAhead, Patch, SetInput, SetOp, SwapBodies
from isomorph.fixes._around import neighbours
from isomorph.stages.diagnose.parameters import fresh

if TYPE_CHECKING:
    from isomorph.core.case import Case
    from isomorph.core.report import Finding

_COMPARISONS = ("Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal")


class ControlFlow:
    """The branches of If exchanged, the operands of Where, a condition or comparison inverted."""

    name = "control_flow"

    def propose(self, finding: Finding, case: Case) -> Iterator[Patch]:
        """The node itself first, then what it decides upon."""
        for node in case.nodes:
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
        for node in neighbours(case, depth=2):
            if node.op in {"If", "Where"}:
                yield Patch(
                    summary=f"the condition of {node.op} {node.name!r} inverted",
                    edits=(
                        InsertAhead(
                            node=node.name, index=0, op="Not", name=fresh(case, f"{node.name}_not")
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
