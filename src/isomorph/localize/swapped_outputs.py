"""Swapped tensors: each is right, but its readers get the other one.

They are outputs of one node, or of two nodes that apply their own constants to the same data, as
the two projections of a gated layer do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from isomorph.localize.substitution import Substitution

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.localize.fault import Fault
    from isomorph.localize.fault_search import Search
    from isomorph.match.topology import Topology

_STEPS = 3
"""Nodes between two tensors and what both are computed from: a product, a bias, a reshape."""


def swapped_output_faults(search: Search) -> list[Fault]:
    """Return two faults for two swapped tensors that together explain a wrong output."""
    wrong = search.wrong_outputs()
    names = [cand for _, cand in wrong]
    for left, right in _pairs(search, names) if wrong else ():
        proposals = _swapped(search, left, right)
        if not proposals:
            continue
        given = {**search.given, **{each.tensor: search.placed(each) for each in proposals}}
        found = search.candidate.run(names, given)
        if any(cand in found and search.agrees(ref, cand, found[cand]) for ref, cand in wrong):
            return [search.fault(each) for each in proposals]
    return []


def _pairs(search: Search, wrong: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield outputs of one node, then tensors that two nodes compute alike from the same data."""
    for node in search.candidate.graph.nodes:
        yield from combinations([name for name in node.outputs if name], 2)
    topology, seen = search.candidate.topology, set[frozenset[str]]()
    spans = {name: _span(topology, name) for name in search.candidate.names}
    read = [name for node in search.entries(wrong) for name in topology.sources(node)]
    for name in dict.fromkeys(read):
        for other in (each for each in spans if each != name and _apart(topology, name, each)):
            for here, there in _alike(topology, spans.get(name, ()), spans[other]):
                pair = frozenset((here.outputs[0], there.outputs[0]))
                if pair not in seen:
                    seen.add(pair)
                    yield here.outputs[0], there.outputs[0]


def _span(topology: Topology, name: str) -> tuple[Node, ...]:
    """Return the last few nodes before a tensor that read one tensor each, the nearest first."""
    found: list[Node] = []
    while len(found) < _STEPS and (maker := topology.maker.get(name)) is not None:
        sources = topology.sources(maker)
        if len(sources) != 1:
            break
        found.append(maker)
        (name,) = sources
    return tuple(found)


def _alike(
    topology: Topology, one: Sequence[Node], other: Sequence[Node]
) -> list[tuple[Node, Node]]:
    """Return pairs of nodes with constants of their own, the ones that read the same data first."""
    found: list[tuple[Node, Node]] = []
    for here, there in zip(one, other, strict=False):
        if here.op != there.op or here.name == there.name:
            return []
        own, others = (set(each.inputs) - topology.live for each in (here, there))
        if own != others:
            found.append((here, there))
        if topology.sources(here) == topology.sources(there):
            return found[::-1]
    return []


def _apart(topology: Topology, one: str, other: str) -> bool:
    """Whether not just one node reads both, whose operands may be exchanged as well."""
    return len({n.name for each in (one, other) for n in topology.readers.get(each, ())}) > 1


def _swapped(search: Search, left: str, right: str) -> list[Substitution]:
    """Return two right tensors of one shape, each with the other's counterpart."""
    one, other = search.pairs.get(left), search.pairs.get(right)
    if one is None or other is None or one[0] == other[0]:
        return []
    if search.values[left].shape != search.values[right].shape:
        return []
    return [
        Substitution(tensor=left, counterpart=other[0], moved=other[1], permuted=False),
        Substitution(tensor=right, counterpart=one[0], moved=one[1], permuted=False),
    ]
