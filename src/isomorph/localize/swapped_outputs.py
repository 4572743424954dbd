"""Swapped outputs of a node: each is right, but its readers get the other one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING

from isomorph.localize.substitution import Substitution

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.localize.fault import Fault
    from isomorph.localize.fault_search import Search


def swapped_output_faults(search: Search) -> list[Fault]:
    """Return two faults for two swapped outputs that together explain a wrong output."""
    wrong = search.wrong_outputs()
    names = [cand for _, cand in wrong]
    for node in search.candidate.graph.nodes if wrong else ():
        for proposals in _swaps(search, node):
            given = {**search.given, **{each.tensor: search.placed(each) for each in proposals}}
            found = search.candidate.run(names, given)
            if any(search.agrees(ref, cand, found[cand]) for ref, cand in wrong):
                return [search.fault(each) for each in proposals]
    return []


def _swaps(search: Search, node: Node) -> Iterator[list[Substitution]]:
    """Yield two right outputs of one shape, each with the other's counterpart."""
    for left, right in combinations([name for name in node.outputs if name], 2):
        one, other = search.pairs.get(left), search.pairs.get(right)
        if one is None or other is None or one[0] == other[0]:
            continue
        if search.values[left].shape == search.values[right].shape:
            yield [
                Substitution(tensor=left, counterpart=other[0], moved=other[1], permuted=False),
                Substitution(tensor=right, counterpart=one[0], moved=one[1], permuted=False),
            ]
