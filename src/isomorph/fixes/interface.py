"""Outputs put back into the order in which the reference has them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import TYPE_CHECKING

from isomorph.core.patch import Patch, SetOutputs

if TYPE_CHECKING:
    from isomorph.core.case import Case
    from isomorph.core.report import Finding

_MOST_OUTPUTS = 4


class Interface:
    """The outputs of the candidate in the reference's order."""

    name = "interface"

    def propose(self, finding: Finding, case: Case) -> Iterator[Patch]:
        """As the finding tells it, by name where the names are the reference's; then all orders."""
        if finding.code != "OUTPUT_ORDER":
            return
        now = tuple(spec.name for spec in case.candidate.outputs)
        there = [spec.name for spec in case.reference.outputs]
        moved = [name for name in finding.tensors if name in now]
        if all(name in there for name in moved):
            moved.sort(key=there.index)
        rest = iter(moved)
        order = tuple(next(rest) if name in moved else name for name in now)
        orders = [order, *(permutations(now) if len(now) <= _MOST_OUTPUTS else ())]
        for names in dict.fromkeys(orders):
            if names != now:
                yield Patch(
                    summary=f"outputs in the order {', '.join(names)}",
                    edits=(SetOutputs(names=names),),
                )
