"""A profile as rows, with the nodes of each body placed before the node that holds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from isomorph.core.profile import GraphProfile, Number

if TYPE_CHECKING:
    from isomorph.localize.subgraph_nodes import SubgraphNames


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One node of a profile, with neighbors by name: positions change as bodies are inserted."""

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
    module: str = ""
    run_budget: Number = None


def rows(side: GraphProfile, other: GraphProfile | None = None) -> list[Row]:
    """Return a profile row by row."""
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
            module=side.modules[place] if side.modules else "",
            run_budget=(side.run_budget or empty)[place],
        )
        for place, (name, at) in enumerate(zip(side.nodes, across, strict=True))
    ]


def renamed(
    inner: Sequence[Row], names: SubgraphNames, other_names: SubgraphNames, number: int
) -> list[Row]:
    """Rename the rows of an extracted body to the names in the whole models."""
    return [
        replace(
            row,
            node=names.node(row.node),
            tensor=names.tensor(row.tensor),
            sources=tuple(map(names.node, row.sources)),
            counterpart=None if row.counterpart is None else other_names.node(row.counterpart),
            round=number if row.round is None else row.round,
        )
        for row in inner
    ]


def with_bodies(outer: Sequence[Row], bodies: Mapping[str, Sequence[Row]]) -> list[Row]:
    """Insert the rows of each body before the node that holds it, and connect them."""
    found: list[Row] = []
    for row in outer:
        inner = bodies.get(row.node, ())
        # A row without sources inside the body reads the inputs of the body.
        found += [
            replace(each, sources=each.sources or row.sources, module=each.module or row.module)
            for each in inner
        ]
        read = {name for each in inner for name in each.sources}
        ends = [each.node for each in inner if each.node not in read]
        found.append(replace(row, sources=tuple(dict.fromkeys((*row.sources, *ends)))))
    return found


def profile(role: str, own: Sequence[Row], others: Sequence[Row] = ()) -> GraphProfile:
    """Convert rows to columns, with neighbors by position."""
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
        run_budget=_where_measured([row.run_budget for row in own]),
        modules=tuple(row.module for row in own),
    )


def _where_measured(column: Sequence[Number]) -> tuple[Number, ...]:
    """Return a column; empty where it has no number."""
    return () if all(each is None for each in column) else tuple(column)
