"""Lay a guilty place out for the causes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.errors import IsomorphError
from isomorph.core.fault_context import Case
from isomorph.diagnose.patch_trial import Rehearsal

if TYPE_CHECKING:
    from isomorph.core.model import Graph
    from isomorph.core.patch import Patch
    from isomorph.core.trace import Array
    from isomorph.localize.fault import Guilt
    from isomorph.match.value_match import Twins
    from isomorph.sessions.model_handle import Opened


def cases(
    guilts: Sequence[Guilt], twins: Twins, candidate: Opened | None = None
) -> Iterator[tuple[str, Case]]:
    """The first guilt of each node, as a case, by the node's name.

    With ``candidate`` at hand, patches can be rehearsed on a copy of it.
    """
    earlier: dict[str, Array] = {}
    told: set[str] = set()
    for guilt in guilts:
        if guilt.node not in told:
            told.add(guilt.node)
            yield guilt.node, _case(guilt, twins, dict(earlier), candidate)
        earlier[guilt.tensor] = guilt.value


def _case(
    guilt: Guilt, twins: Twins, earlier: Mapping[str, Array], candidate: Opened | None
) -> Case:
    left, right = twins.reference.graph, twins.candidate.graph
    here = {node.name: node for node in right.nodes}
    there = {node.name: node for node in left.nodes}
    nodes = tuple(here[name] for name in guilt.nodes)
    stage = Rehearsal(candidate, twins.candidate, nodes, earlier) if candidate else None

    def replaced(given: Mapping[str, Array]) -> Array | None:
        try:
            return twins.candidate.run([guilt.tensor], {**earlier, **given}).get(guilt.tensor)
        except (IsomorphError, ValueError):
            return None  # an experiment that cannot be run confirms nothing

    def equals(array: Array) -> bool:
        own = twins.reference.values.get(guilt.counterpart)
        right = guilt.value if own is None or array.shape == guilt.value.shape else own
        # Put right, it may have the reference's own arrangement instead of the one it was held in.
        return array.shape == right.shape and twins.equal(
            guilt.counterpart, guilt.tensor, right, array
        )

    def heals(given: Mapping[str, Array]) -> bool:
        found = replaced(given)
        return found is not None and equals(found)

    def value(graph: Graph, name: str) -> Array | None:
        side, given = (twins.candidate, earlier) if graph is right else (twins.reference, {})
        try:
            return side.run([name], given).get(name)
        except (IsomorphError, ValueError):
            return None

    def rehearse(patch: Patch) -> Array | None:
        found = stage.run(patch, [guilt.tensor]) if stage is not None else None
        return None if found is None else found[guilt.tensor]

    pairs: dict[str, str] = {}

    def twin(name: str) -> str | None:
        if not pairs:
            pairs.update(_held_here(twins, earlier))
        return pairs.get(name)

    wrong = replaced({})
    return Case(
        reference=left,
        candidate=right,
        node=here[guilt.node],
        nodes=nodes,
        counterparts=tuple(there[name] for name in guilt.reference_nodes),
        tensor=guilt.tensor,
        wrong=guilt.value if wrong is None else wrong,
        right=guilt.value,
        scattered=guilt.scattered,
        constant=lambda graph, name: _constant(twins, graph, name),
        heals=heals,
        equals=equals,
        value=value,
        twin=twin,
        rehearse=rehearse,
        same_framework=twins.same_axes,
    )


def _held_here(twins: Twins, earlier: Mapping[str, Array]) -> Iterator[tuple[str, str]]:
    """The reference's tensors with the candidate's first ones that hold their values."""
    seen: set[str] = set()
    for mine, held in twins.candidate.with_given(earlier).items():
        found = twins.pair(mine, held) if mine in twins.candidate.spread else None
        if found is not None and found[0] not in seen:
            seen.add(found[0])
            yield found[0], mine


def _constant(twins: Twins, graph: Graph, name: str) -> Array | None:
    side = twins.reference if graph is twins.reference.graph else twins.candidate
    try:
        return np.asarray(side.oracle.run(side.feeds, [name])[name])
    except IsomorphError:
        return None
