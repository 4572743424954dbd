"""Nodes with several wrong outputs, none of which alone restores what follows.

A loop returns two states and the next node joins them. The search then stops at the joining node,
with the loop in its group; here all outputs of such a node are corrected together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import TYPE_CHECKING

from isomorph.core.limits import NODE_OUTPUTS
from isomorph.localize.fault_search import Search
from isomorph.localize.substitution import Substitution
from isomorph.match.value_match import rearrangements
from isomorph.oracle.sizes import rms_and_peak

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.localize.fault import Fault


def narrow_to_node(search: Search, fault: Fault) -> Fault:
    """Return the fault of one node of the group if all its outputs restore the faulty tensor."""
    if len(fault.nodes) < 2:
        return fault
    here = {node.name: node for node in search.candidate.graph.nodes}
    there = [n for n in search.reference.graph.nodes if n.name in fault.reference_nodes]
    for node in (here[name] for name in fault.nodes):
        wrong = [o for o in node.outputs if o in search.values and o not in search.right]
        sources = search.candidate.topology.sources(node)
        if len(wrong) < 2 or not all(source in search.right for source in sources):
            continue
        for other in (each for each in there if each.op == node.op):
            for proposals in _pairings(search, wrong, node, other):
                if _restore(search, proposals, fault):
                    return search.fault(proposals[0])
    return fault


def _pairings(
    search: Search, wrong: Sequence[str], node: Node, other: Node
) -> Iterator[list[Substitution]]:
    """Yield pairings of the wrong outputs with the counterpart's, the closest values first."""
    names = [name for name in other.outputs if name in search.reference.values]
    if len(names) < len(wrong):
        return
    # Either node may leave optional outputs out.
    by_place = dict(zip(node.outputs, other.outputs, strict=False))
    same = tuple(by_place.get(name, "") for name in wrong)
    few = len(names) <= NODE_OUTPUTS.most
    orders = permutations(names, len(wrong)) if few else iter([same])
    found = []
    for order in orders:
        pairs = [_proposal(search, *pair) for pair in zip(wrong, order, strict=True)]
        whole = [each for each in pairs if each is not None]
        if len(whole) == len(wrong):
            found.append((sum(_far(search, each) for each in whole), whole))
    yield from (whole for _, whole in sorted(found, key=lambda each: each[0]))
    if not few:  # the only pairing did not restore the tensor
        NODE_OUTPUTS.reached()


def _proposal(search: Search, tensor: str, counterpart: str) -> Substitution | None:
    source = search.reference.values.get(counterpart)
    moved = (
        None if source is None else next(rearrangements(source, search.values[tensor].shape), None)
    )
    if moved is None:
        return None
    return Substitution(tensor=tensor, counterpart=counterpart, moved=moved, permuted=False)


def _far(search: Search, proposal: Substitution) -> float:
    """Return the distance of the right value from the wrong one, relative to its rms."""
    size = search.reference.prints[proposal.counterpart].rms
    error, _ = rms_and_peak(search.values[proposal.tensor], search.placed(proposal))
    return error / size if size > 0 else error


def _restore(search: Search, proposals: Sequence[Substitution], fault: Fault) -> bool:
    given = {**search.given, **{each.tensor: search.placed(each) for each in proposals}}
    found = search.candidate.run([fault.tensor], given).get(fault.tensor)
    return found is not None and search.matcher.equal(
        fault.counterpart, fault.tensor, fault.value, found
    )
