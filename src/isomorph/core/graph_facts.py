"""Facts that follow from the description of a graph alone, computed once for each graph."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from isomorph.core.model import Graph

_T = TypeVar("_T")

_GRAPHS = 16
"""Graphs whose facts are kept: those of both models, and of the parts that are looked into."""


def once_per_graph(function: Callable[[Graph], _T]) -> Callable[[Graph], _T]:
    """Keep the result of a function of a graph. A description never changes; a new one is new."""
    # The graph is kept as well: as long as it lives, no other object has its identity.
    known: OrderedDict[int, tuple[Graph, _T]] = OrderedDict()

    @wraps(function)
    def fact(graph: Graph) -> _T:
        found = known.get(id(graph))
        if found is None:
            found = known[id(graph)] = graph, function(graph)
            while len(known) > _GRAPHS:
                known.popitem(last=False)
        return found[1]

    return fact
