"""The subgraphs around a faulty node in both models, with the values of their inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from isomorph.match.tensor_capture import TensorCapture
from isomorph.sessions.fetched_feeds import Source, as_declared, complete, feeds_from

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.localize.fault import Fault
    from isomorph.match.axis_layout import Rearrangement
    from isomorph.match.value_match import ValueMatcher


@dataclass(frozen=True, slots=True, kw_only=True)
class SubgraphSide:
    """One model's subgraph: from ``feeds``, in the declared types, to ``fetch``."""

    feeds: Mapping[str, Array] = field(repr=False)
    fetch: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultSubgraph:
    """Both subgraphs; ``bound`` pairs their inputs, ``moved`` has the rearrangement of each."""

    reference: SubgraphSide
    candidate: SubgraphSide
    bound: Mapping[str, str]
    moved: Mapping[str, Rearrangement]


def smallest_subgraph(
    fault: Fault, matcher: ValueMatcher, earlier: Mapping[str, Array]
) -> FaultSubgraph | None:
    """Return the faulty nodes and their counterparts; None where their inputs do not match."""
    cand = _boundary(matcher.candidate, fault.nodes)
    ref = _boundary(matcher.reference, fault.reference_nodes)
    values = {**matcher.candidate.values, **_corrected(matcher.candidate, cand, earlier)}
    bound: dict[str, str] = {}
    moved: dict[str, Rearrangement] = {}
    for name in cand:
        found = _counterpart(fault, matcher, name, values.get(name), ref)
        if found is None or found[0] in bound:
            return None
        bound[found[0]], moved[name] = name, found[1]
    open_ends = matcher.reference.topology.above(fault.counterpart, until=bound) & set(ref)
    if not cand or len(bound) != len(cand) or open_ends - bound.keys():
        return None
    left = _feeds(matcher.reference, matcher.reference.values, {name: name for name in bound})
    right = _feeds(matcher.candidate, left, {name: other for other, name in bound.items()}, moved)
    return FaultSubgraph(
        reference=SubgraphSide(feeds=left, fetch=fault.counterpart),
        candidate=SubgraphSide(feeds=right, fetch=fault.tensor),
        bound=bound,
        moved=moved,
    )


def _counterpart(
    fault: Fault, matcher: ValueMatcher, name: str, value: Array | None, edge: Sequence[str]
) -> tuple[str, Rearrangement] | None:
    """Return the reference's tensor that corresponds to an input of the candidate's subgraph.

    It is an input of the reference's nodes or lies between them: one of those may have exactly the
    candidate's shape, and subgraphs whose inputs differ are not compared.
    """
    if value is None:
        return None
    inner = {
        made
        for node in matcher.reference.graph.nodes
        if node.name in fault.reference_nodes
        for made in node.outputs
    } - {fault.counterpart}
    found = [pair for pair in matcher.pairs(name, value) if pair[0] in {*edge, *inner}]
    values = matcher.reference.values
    found.sort(key=lambda pair: (pair[1].moves, values[pair[0]].shape != value.shape))
    return next(iter(found), None)


def run_subgraph(capture: TensorCapture, nodes: Sequence[str], tensor: str) -> SubgraphSide | None:
    """Return the faulty nodes of a run with their inputs; None unless all are numeric."""
    names = _boundary(capture, nodes)
    known = complete(capture.values, names)
    if not known:
        return None
    return SubgraphSide(feeds=_feeds(capture, known, {name: name for name in names}), fetch=tensor)


def _boundary(capture: TensorCapture, names: Sequence[str]) -> list[str]:
    """Return the tensors that these nodes read and none of them computes, without constants."""
    nodes = [node for node in capture.graph.nodes if node.name in set(names)]
    own = {name for node in nodes for name in node.outputs}
    read = (name for node in nodes for name in capture.topology.sources(node))
    return list(dict.fromkeys(name for name in read if name not in own))


def _corrected(
    capture: TensorCapture, names: Sequence[str], earlier: Mapping[str, Array]
) -> Mapping[str, Array]:
    """Return the values of these tensors with earlier faults corrected."""
    if not earlier:
        return {}
    below = capture.topology.below(earlier)
    return {**capture.run([name for name in names if name in below], earlier), **earlier}


def _feeds(
    capture: TensorCapture,
    values: Mapping[str, Array],
    sources: Mapping[str, str],
    moved: Mapping[str, Rearrangement] | None = None,
) -> dict[str, Array]:
    """Return values as the cut subgraph takes them: in the declared types, rearranged."""
    specs, orders = capture.graph.tensors, moved or {}
    return feeds_from(
        values,
        {
            name: Source(
                name=source,
                arrange=orders[name].array if name in orders else None,
                convert=as_declared(specs.get(name)),
            )
            for name, source in sources.items()
        },
    )
