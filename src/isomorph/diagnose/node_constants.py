"""The constants of a faulty node and those of its counterpart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.diagnosis_limits import CONSTANT_DEPTH, PARAMETER_ELEMENTS
from isomorph.core.ops import RANDOM
from isomorph.match.topology import Topology

_UNDOING = (("Mul", "Div"), ("Add", "Sub"))
"""Operators that are each other's with the inverse of a constant."""

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.model import Graph, Node
    from isomorph.core.trace import Array


def names(graph: Graph, nodes: Sequence[Node]) -> list[str]:
    """The constants that these nodes read, directly or through nodes that only see constants.

    What the bodies of a node read from around it counts.
    """
    makers = {output: node for node in graph.nodes for output in node.outputs}
    found: list[str] = []
    open_ends = [name for node in nodes for name in Topology.reads(node)]
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


def stored_constant(context: FaultContext, name: str) -> Array | None:
    """The value of a constant of the candidate; None where it is none, or cannot be read."""
    graph = context.candidate
    return context.constant(graph, name) if name in graph.constants else None


def fixed(graph: Graph, name: str) -> bool:
    """Whether a tensor depends on constants alone."""
    makers = {output: node for node in graph.nodes for output in node.outputs}
    return _fixed(graph, name, makers)


def _fixed(graph: Graph, name: str, makers: dict[str, Node], depth: int = 0) -> bool:
    """Whether a tensor depends on constants alone."""
    if name in graph.constants:
        return True
    maker = makers.get(name)
    if maker is None or depth > CONSTANT_DEPTH or maker.op in RANDOM:
        return False
    return all(_fixed(graph, each, makers, depth + 1) for each in maker.inputs if each)


def floats(graph: Graph, nodes: Sequence[Node]) -> list[str]:
    """Those that hold real numbers: weights, not shapes."""
    return [name for name in names(graph, nodes) if "float" in graph.constants[name].dtype]


def masks(graph: Graph, nodes: Sequence[Node]) -> list[str]:
    """Those that hold truth values: which elements a node selects."""
    return [name for name in names(graph, nodes) if graph.constants[name].dtype == "bool"]


def unmatched(context: FaultContext) -> list[str]:
    """Float constants of the candidate's nodes whose values the reference's nodes do not hold."""
    ref_digests = {
        context.reference.constants[name].value_digest
        for name in floats(context.reference, context.counterparts)
    }
    anywhere = {each.value_digest for each in context.reference.constants.values()}
    here = floats(context.candidate, context.nodes)
    known = ref_digests or anywhere
    return [name for name in here if context.candidate.constants[name].value_digest not in known]


def weights(context: FaultContext, names_: Sequence[str]) -> list[str]:
    """Those of these constants that are weights, not parameters of the operator.

    A handful of numbers that the counterpart has no constant of the same size for (scales of a
    resize, bounds of a clip, an epsilon) is what other frameworks keep as an attribute.
    """
    sizes = {
        int(np.prod(context.reference.constants[each].shape))
        for each in floats(context.reference, context.counterparts)
    }
    found = []
    for name in names_:
        shape = context.candidate.constants[name].shape
        size = int(np.prod(shape))
        if size > PARAMETER_ELEMENTS or (shape and size in sizes):
            found.append(name)
    return found


def stores_equal_weights(context: FaultContext) -> bool:
    """Whether each weight of the candidate's nodes stands in the reference byte for byte."""
    ref = {
        context.reference.constants[name].digest
        for name in floats(context.reference, context.counterparts)
    }
    cand = [context.candidate.constants[name] for name in floats(context.candidate, context.nodes)]
    return all(each.digest in ref for each in cand if len(each.shape) > 1)


def stated(context: FaultContext) -> Iterator[float]:
    """Every single number in attributes and constants of the counterparts, once each."""
    seen: set[float] = set()
    numbers: list[object] = [v for node in context.counterparts for v in node.attributes.values()]
    for name in floats(context.reference, context.counterparts):
        values = context.reference.constants[name].values
        numbers += [values[0]] if values is not None and len(values) == 1 else []
    for number in numbers:
        if isinstance(number, (int, float)) and not isinstance(number, bool):
            value = float(number)
            if value not in seen:
                seen.add(value)
                yield value


def constants_of_equal_size(context: FaultContext, name: str) -> Iterator[tuple[str, Array]]:
    """Constants of the counterpart of its kind with as many elements, equal values first."""
    cand = context.candidate.constants[name]
    size = int(np.prod(cand.shape))
    of_kind, kind = (masks, "b") if cand.dtype == "bool" else (floats, "f")
    ref = [
        context.reference.constants[each]
        for each in of_kind(context.reference, context.counterparts)
        if int(np.prod(context.reference.constants[each].shape)) == size
    ]
    ref.sort(key=lambda each: each.value_digest != cand.value_digest)
    for each in ref:
        value = context.constant(context.reference, each.name)
        if value is not None:
            yield each.name, value
            yield from ((each.name, turned) for turned in _turned(context, name, each.name, value))
    for tensor in computed(context.reference, context.counterparts):
        value = context.value(context.reference, tensor)
        if value is not None and value.dtype.kind == kind and value.size == size:
            yield tensor, value


def _turned(context: FaultContext, cand: str, ref: str, value: Array) -> Iterator[Array]:
    """What a constant is where one side divides by it and the other multiplies, or subtracts."""
    if value.dtype.kind != "f":
        return
    here = {node.op for node in context.nodes if cand in node.inputs}
    there = {node.op for node in context.counterparts if ref in node.inputs[1:]}
    for one, other in _UNDOING:
        if (one in here and other in there) or (other in here and one in there):
            if one == "Add":
                yield -value
            elif np.all(value):
                yield 1.0 / value


def computed(graph: Graph, nodes: Sequence[Node]) -> list[str]:
    """What these nodes read that is made of constants alone: a table, a mask, a folded factor."""
    makers = {output: node for node in graph.nodes for output in node.outputs}
    read = dict.fromkeys(name for node in nodes for name in node.inputs if name in makers)
    return [name for name in read if _fixed(graph, name, makers)]
