"""Outputs put back into the order in which the reference has them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import TYPE_CHECKING

from isomorph.core.messages import message
from isomorph.core.patch import Patch, SetOutputs
from isomorph.core.repair_limits import OUTPUT_ORDERS
from isomorph.core.report import Fact

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.report import Finding


class Interface:
    """The outputs of the candidate in the reference's order."""

    name = "interface"

    def propose(self, finding: Finding, context: FaultContext) -> Iterator[Patch]:
        """Another order where that is the finding; other names where one output is another's."""
        now = tuple(spec.name for spec in context.candidate.outputs)
        if finding.code == "OUTPUT_ORDER":
            yield from _in_order(finding, context, now)
        elif finding.cause == "interface" and finding.fact(Fact.REFERENCE_OUTPUT) is not None:
            yield from _renamed(now)


def _in_order(finding: Finding, context: FaultContext, now: tuple[str, ...]) -> Iterator[Patch]:
    """The order that the finding names, the order of the reference's names, then all orders."""
    there = [spec.name for spec in context.reference.outputs]
    moved = [name for name in finding.tensors if name in now]
    if all(name in there for name in moved):
        moved.sort(key=there.index)
    remaining = iter(moved)
    order = tuple(next(remaining) if name in moved else name for name in now)
    orders = [order, *_orders(now)]
    for names in dict.fromkeys(orders):
        if names != now:
            yield Patch(
                summary=message("PATCH.order_outputs", names=", ".join(names)),
                edits=(SetOutputs(names=names),),
            )


def _renamed(now: tuple[str, ...]) -> Iterator[Patch]:
    """Every tensor under another output's name: the signature stays, what it stands for moves."""
    for names in _orders(now):
        if names != now:
            pairs = [
                message("PATCH.output_name", tensor=tensor, name=name)
                for tensor, name in zip(names, now, strict=True)
                if tensor != name
            ]
            yield Patch(
                summary=message("PATCH.name_outputs", pairs=", ".join(pairs)),
                edits=(SetOutputs(names=names, called=now),),
            )


def _orders(names: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Every order of a few outputs; none of many."""
    if len(names) > OUTPUT_ORDERS.most:
        OUTPUT_ORDERS.reached()
        return
    yield from permutations(names)
