"""The constants of a guilty node beside those of its counterpart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from isomorph.core.case import Case
    from isomorph.core.model import Graph, Node
    from isomorph.core.trace import Array


def names(graph: Graph, nodes: Sequence[Node]) -> list[str]:
    """The constants that these nodes read, directly or through nodes that only see constants."""
    makers = {output: node for node in graph.nodes for output in node.outputs}
    found: list[str] = []
    open_ends = [name for node in nodes for name in node.inputs if name]
    seen: set[str] = set()
    while open_ends:
        name = open_ends.pop(0)
        if name in seen:
            continue
        seen.add(name)
        if name in graph.constants:
            found.append(name)
        elif name in makers and _fixed(graph, name, makers):
            open_ends += [each for each in makers[name].inputs if each]
    return found


def _fixed(graph: Graph, name: str, makers: dict[str, Node], depth: int = 0) -> bool:
    """Whether a tensor depends on constants alone."""
    if name in graph.constants:
        return True
    maker = makers.get(name)
    if maker is None or depth > 16 or not any(maker.inputs):
        return False
    return all(_fixed(graph, each, makers, depth + 1) for each in maker.inputs if each)


def floats(graph: Graph, nodes: Sequence[Node]) -> list[str]:
    """Those that hold real numbers: weights, not shapes."""
    return [name for name in names(graph, nodes) if "float" in graph.constants[name].dtype]


def unmatched(case: Case) -> list[str]:
    """Float constants of the candidate's nodes whose values the reference's nodes do not hold."""
    theirs = {
        case.reference.constants[name].value_digest
        for name in floats(case.reference, case.counterparts)
    }
    anywhere = {each.value_digest for each in case.reference.constants.values()}
    here = floats(case.candidate, case.nodes)
    known = theirs or anywhere
    return [name for name in here if case.candidate.constants[name].value_digest not in known]


def alike_in_size(case: Case, name: str) -> Iterator[tuple[str, Array]]:
    """Constants of the counterpart with as many elements, equal values first."""
    mine = case.candidate.constants[name]
    size = int(np.prod(mine.shape))
    theirs = [
        case.reference.constants[each]
        for each in floats(case.reference, case.counterparts)
        if int(np.prod(case.reference.constants[each].shape)) == size
    ]
    theirs.sort(key=lambda each: each.value_digest != mine.value_digest)
    for each in theirs:
        value = case.constant(case.reference, each.name)
        if value is not None:
            yield each.name, value
