"""A guilty place of several nodes, taken apart where both sides have the same steps.

Two faults that stand close together hide each other: putting one right heals nothing that can
be seen, so the search names both as one place. No single patch heals that place. Step by step,
each node against its namesake of the reference, each fault has a place of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from isomorph.localize.fault import Trail
from isomorph.localize.locate import Located
from isomorph.match.axis_layout import Rearrangement

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.core.trace import Array
    from isomorph.localize.fault import Guilt


def taken_apart(located: Located, guilt: Guilt) -> tuple[Located, frozenset[str]] | None:
    """The trail with this guilt as several, and the tensors of those; None if it stays one."""
    place = located.trail.guilts.index(guilt)
    before, after = located.trail.guilts[:place], located.trail.guilts[place + 1 :]
    inner = _inner(located, guilt, {each.tensor: each.value for each in before})
    if len(inner) < 2:
        return None
    trail = Trail(guilts=(*before, *inner, *after), explained=located.trail.explained)
    return Located(trail=trail, twins=located.twins), frozenset(each.tensor for each in inner)


def _inner(located: Located, guilt: Guilt, earlier: dict[str, Array]) -> list[Guilt]:
    """The steps that are wrong although everything before them has been put right."""
    twins, given = located.twins, dict(earlier)
    found: list[Guilt] = []
    rest = list(guilt.nodes)
    for mine, theirs in _namesakes(located, guilt):
        tensor, counterpart = mine.outputs[0], theirs.outputs[0]
        right = twins.reference.values.get(counterpart)
        value = twins.candidate.run([tensor], given).get(tensor)
        if right is None or value is None or right.shape != value.shape or tensor == guilt.tensor:
            continue
        until = rest.index(mine.name) + 1
        own, rest = tuple(rest[:until]), rest[until:]
        if not twins.equal(counterpart, tensor, right, value):
            whole = Rearrangement(permutation=tuple(range(right.ndim)), shape=right.shape)
            found.append(
                replace(
                    guilt,
                    node=mine.name,
                    nodes=own,
                    tensor=tensor,
                    counterpart=counterpart,
                    reference_nodes=(theirs.name,),
                    moved=whole,
                    value=right,
                )
            )
            given[tensor] = right
    value = twins.candidate.run([guilt.tensor], given).get(guilt.tensor)
    settled = value is not None and value.shape == guilt.value.shape
    if settled and twins.equal(guilt.counterpart, guilt.tensor, guilt.value, value):  # type: ignore[arg-type]
        return found
    return [*found, replace(guilt, nodes=tuple(rest))] if rest else found


def _namesakes(located: Located, guilt: Guilt) -> Iterator[tuple[Node, Node]]:
    """Nodes of the same operator on both sides, in the order of the graphs."""
    here = {node.name: node for node in located.twins.candidate.graph.nodes}
    there = {node.name: node for node in located.twins.reference.graph.nodes}
    left = [there[name] for name in guilt.reference_nodes]
    for name in guilt.nodes:
        place = next((i for i, node in enumerate(left) if node.op == here[name].op), None)
        if place is not None:
            yield here[name], left[place]
            left = left[place + 1 :]
