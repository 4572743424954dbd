"""The float weight of the reference that a stored quantised weight was made from."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from isomorph.stages.align.rescaled import folded
from isomorph.stages.align.twins import ways

if TYPE_CHECKING:
    from isomorph.core.model import Graph
    from isomorph.core.trace import Array

_MOST_TRIED = 8
_ALIKE = 0.9
"""The cosine above which a weight is the other's: unrelated ones of any size are near zero, and
a wrong scale does not change it."""
_CERTAIN = 0.999


def original(
    real: Array, name: str, graph: Graph, read: Callable[[str], Array | None]
) -> Array | None:
    """The reference's values in the arrangement of ``real``, or None where nothing resembles it."""
    best, found = _ALIKE, None
    for other in _candidates(real, name, graph):
        value = read(other)
        if value is None:
            continue
        for moved in ways(value, real.shape):
            seen = np.asarray(moved.array(value), np.float64)
            if (likeness := _cosine(seen, real)) > best:
                best, found = likeness, seen
        if best > _CERTAIN:
            return found
    for value in folded(real.size, graph, read):
        for moved in ways(value, real.shape):
            seen = np.asarray(moved.array(value), np.float64)
            if (likeness := _cosine(seen, real)) > best:
                best, found = likeness, seen
    return found


def _candidates(real: Array, name: str, graph: Graph) -> Iterator[str]:
    """Float constants with as many elements, similar names first."""
    alike = [
        each.name
        for each in graph.constants.values()
        if "float" in each.dtype and int(np.prod(each.shape)) == real.size > 1
    ]
    matcher = difflib.SequenceMatcher(b=name, autojunk=False)

    def likeness(other: str) -> float:
        matcher.set_seq1(other)
        return matcher.ratio()

    yield from sorted(alike, key=likeness, reverse=True)[:_MOST_TRIED]


def _cosine(left: Array, right: Array) -> float:
    size = float(np.linalg.norm(left) * np.linalg.norm(right))
    return float(np.vdot(left, right)) / size if size > 0 and np.isfinite(size) else 0.0
