"""Lay a guilty place out for the causes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.case import Case
from isomorph.core.errors import IsomorphError

if TYPE_CHECKING:
    from isomorph.core.model import Graph
    from isomorph.core.trace import Array
    from isomorph.stages.align.twins import Twins
    from isomorph.stages.localise.guilt import Guilt


def cases(guilts: Sequence[Guilt], twins: Twins) -> Iterator[tuple[str, Case]]:
    """The first guilt of each node, as a case, by the node's name."""
    earlier: dict[str, Array] = {}
    told: set[str] = set()
    for guilt in guilts:
        if guilt.node not in told:
            told.add(guilt.node)
            yield guilt.node, _case(guilt, twins, dict(earlier))
        earlier[guilt.tensor] = guilt.value


def _case(guilt: Guilt, twins: Twins, earlier: Mapping[str, Array]) -> Case:
    left, right = twins.reference.graph, twins.candidate.graph
    here = {node.name: node for node in right.nodes}
    there = {node.name: node for node in left.nodes}

    def value(given: Mapping[str, Array]) -> Array | None:
        try:
            return twins.candidate.run([guilt.tensor], {**earlier, **given}).get(guilt.tensor)
        except (IsomorphError, ValueError):
            return None  # an experiment that cannot be run confirms nothing

    def equals(array: Array) -> bool:
        return array.shape == guilt.value.shape and twins.equal(
            guilt.counterpart, guilt.tensor, guilt.value, array
        )

    def heals(given: Mapping[str, Array]) -> bool:
        found = value(given)
        return found is not None and equals(found)

    wrong = value({})
    return Case(
        reference=left,
        candidate=right,
        node=here[guilt.node],
        nodes=tuple(here[name] for name in guilt.nodes),
        counterparts=tuple(there[name] for name in guilt.reference_nodes),
        tensor=guilt.tensor,
        wrong=guilt.value if wrong is None else wrong,
        right=guilt.value,
        scattered=guilt.scattered,
        constant=lambda graph, name: _constant(twins, graph, name),
        heals=heals,
        equals=equals,
    )


def _constant(twins: Twins, graph: Graph, name: str) -> Array | None:
    side = twins.reference if graph is twins.reference.graph else twins.candidate
    try:
        return np.asarray(side.oracle.run(side.feeds, [name])[name])
    except IsomorphError:
        return None
