"""The nodes of bodies among those of the graph around them: each body stands before its node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from isomorph.core.profile import GraphProfile, Number

if TYPE_CHECKING:
    from isomorph.localize.subgraph_nodes import Described


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One node of a profile, its neighbors by name: places change when bodies are put in."""

    node: str
    op: str
    tensor: str
    sources: tuple[str, ...]
    execution: Number
    budget: Number
    counterpart: str | None
    translation: Number
    local: Number
    round: int | None = None


def rows(side: GraphProfile, other: GraphProfile | None = None) -> list[Row]:
    """A profile row by row."""
    empty = (None,) * len(side.nodes)
    across = side.counterpart if other is not None and side.counterpart else empty
    return [
        Row(
            node=name,
            op=side.ops[place],
            tensor=side.tensors[place],
            sources=tuple(side.nodes[each] for each in side.sources[place]),
            execution=side.execution[place],
            budget=side.budget[place],
            counterpart=None if other is None or at is None else other.nodes[at],
            translation=(side.translation or empty)[place],
            local=(side.local or empty)[place],
        )
        for place, (name, at) in enumerate(zip(side.nodes, across, strict=True))
    ]


def renamed(inner: Sequence[Row], ours: Described, theirs: Described, number: int) -> list[Row]:
    """The rows of a body that was cut out, as the whole models call them, on one of its rounds."""
    return [
        replace(
            row,
            node=ours.node(row.node),
            tensor=ours.tensor(row.tensor),
            sources=tuple(map(ours.node, row.sources)),
            counterpart=None if row.counterpart is None else theirs.node(row.counterpart),
            round=number if row.round is None else row.round,
        )
        for row in inner
    ]


def spliced(outer: Sequence[Row], bodies: Mapping[str, Sequence[Row]]) -> list[Row]:
    """The rows of each body before the node that holds it, and joined to what is around."""
    found: list[Row] = []
    for row in outer:
        inner = bodies.get(row.node, ())
        # What reads nothing inside reads what is handed in.
        found += [replace(each, sources=each.sources or row.sources) for each in inner]
        read = {name for each in inner for name in each.sources}
        ends = [each.node for each in inner if each.node not in read]
        found.append(replace(row, sources=tuple(dict.fromkeys((*row.sources, *ends)))))
    return found


def profile(role: str, own: Sequence[Row], others: Sequence[Row] = ()) -> GraphProfile:
    """Rows as columns, neighbors by their places."""
    place = {row.node: at for at, row in enumerate(own)}
    there = {row.node: at for at, row in enumerate(others)}
    return GraphProfile(
        role=role,
        nodes=tuple(row.node for row in own),
        ops=tuple(row.op for row in own),
        tensors=tuple(row.tensor for row in own),
        sources=tuple(tuple(place[each] for each in row.sources) for row in own),
        execution=tuple(row.execution for row in own),
        budget=tuple(row.budget for row in own),
        counterpart=tuple(there.get(row.counterpart or "") for row in own),
        translation=tuple(row.translation for row in own),
        local=tuple(row.local for row in own),
        rounds=tuple(row.round for row in own),
    )
