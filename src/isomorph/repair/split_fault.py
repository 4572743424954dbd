"""Split a fault of several nodes where both models have the same steps.

Two adjacent faults hide each other: correcting one restores no tensor, so the search reports both
as one fault, and no single patch restores it. Compared step by step with the nodes of the same name
in the reference, each is a fault of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from isomorph.localize.fault import FaultChain
from isomorph.localize.locate import Located
from isomorph.match.axis_layout import Rearrangement

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.core.trace import Array
    from isomorph.localize.fault import Fault


def split_fault(located: Located, fault: Fault) -> tuple[Located, frozenset[str]] | None:
    """The chain with this fault split, and the tensors of the parts; None if it stays one."""
    place = located.chain.faults.index(fault)
    before, after = located.chain.faults[:place], located.chain.faults[place + 1 :]
    inner = _inner(located, fault, {each.tensor: each.value for each in before})
    if len(inner) < 2:
        return None
    chain = FaultChain(faults=(*before, *inner, *after), explained=located.chain.explained)
    return Located(chain=chain, matcher=located.matcher), frozenset(each.tensor for each in inner)


def _inner(located: Located, fault: Fault, earlier: dict[str, Array]) -> list[Fault]:
    """The steps that are wrong although everything before them has been put right."""
    matcher, given = located.matcher, dict(earlier)
    found: list[Fault] = []
    remaining = list(fault.nodes)
    for cand, ref in _namesakes(located, fault):
        tensor, counterpart = cand.outputs[0], ref.outputs[0]
        right = matcher.reference.values.get(counterpart)
        value = matcher.candidate.run([tensor], given).get(tensor)
        if right is None or value is None or right.shape != value.shape or tensor == fault.tensor:
            continue
        until = remaining.index(cand.name) + 1
        own, remaining = tuple(remaining[:until]), remaining[until:]
        if not matcher.equal(counterpart, tensor, right, value):
            whole = Rearrangement(permutation=tuple(range(right.ndim)), shape=right.shape)
            found.append(
                replace(
                    fault,
                    node=cand.name,
                    nodes=own,
                    tensor=tensor,
                    counterpart=counterpart,
                    reference_nodes=(ref.name,),
                    moved=whole,
                    value=right,
                )
            )
            given[tensor] = right
    value = matcher.candidate.run([fault.tensor], given).get(fault.tensor)
    settled = value is not None and value.shape == fault.value.shape
    if settled and matcher.equal(fault.counterpart, fault.tensor, fault.value, value):  # type: ignore[arg-type]
        return found
    return [*found, replace(fault, nodes=tuple(remaining))] if remaining else found


def _namesakes(located: Located, fault: Fault) -> Iterator[tuple[Node, Node]]:
    """Nodes of the same operator on both sides, in the order of the graphs."""
    here = {node.name: node for node in located.matcher.candidate.graph.nodes}
    there = {node.name: node for node in located.matcher.reference.graph.nodes}
    left = [there[name] for name in fault.reference_nodes]
    for name in fault.nodes:
        place = next((i for i, node in enumerate(left) if node.op == here[name].op), None)
        if place is not None:
            yield here[name], left[place]
            left = left[place + 1 :]
