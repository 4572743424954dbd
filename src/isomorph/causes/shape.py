"""A size that followed the input was frozen when the model was exported."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.diagnosis_limits import SIZES
from isomorph.core.experiments import experiment
from isomorph.core.fault_context import Certainty, Diagnosis, FaultContext, FaultSite
from isomorph.core.messages import message
from isomorph.core.report import Fact
from isomorph.match.topology import Topology

if TYPE_CHECKING:
    from isomorph.core.model import Constant, Graph, Node
    from isomorph.core.trace import Array

_MOST_SHOWN = 16
_NEUTRAL = {"Add": 0, "Sub": 0, "Mul": 1, "Div": 1}


class Shape:
    """A batch size, a length or a size of an image that is a constant in the candidate.

    Recognized where the faulty node reads whole numbers that are stored, and the reference
    computes the same numbers from the shape of its input: with the numbers that belong to this
    input in their place, the node is right. Such a model agrees at the size it was exported
    with, and at no other.
    """

    name = "shape"
    sites = frozenset({FaultSite.GRAPH})

    def examine(self, context: FaultContext) -> Iterator[Diagnosis]:
        """Put in, for each stored size, what the reference computes for this input."""
        for node in _readers(context):
            for name in node.inputs:
                stored = context.candidate.constants.get(name)
                if stored is None or "int" not in stored.dtype or stored.values is None:
                    continue
                for ref_name, value in _computed(context, node, stored):
                    changed = value.reshape(_like(stored, value))
                    if tuple(changed.reshape(-1)) == stored.values or _neutral(node, changed):
                        continue
                    if context.restores({name: changed.astype(stored.dtype)}):
                        yield _frozen(node, name, stored.values, changed, ref_name)
                        return


def _neutral(node: Node, value: Array) -> bool:
    """Whether the node does nothing with these numbers: then it is a node too many, and no size."""
    return node.op in _NEUTRAL and bool(np.all(value == _NEUTRAL[node.op]))


def _readers(context: FaultContext) -> Iterator[Node]:
    """The faulty nodes, then the nodes that compute their inputs from constants alone."""
    topology = Topology(context.candidate)
    open_ends, seen = list(context.nodes), set[str]()
    while open_ends:
        node = open_ends.pop(0)
        if node.name not in seen:
            seen.add(node.name)
            yield node
            makers = (topology.maker.get(n) for n in node.inputs if n not in topology.live)
            open_ends += [maker for maker in makers if maker is not None]


def _computed(context: FaultContext, node: Node, stored: Constant) -> Iterator[tuple[str, Array]]:
    """Sizes that belong to this input: what the reference computes, then the sizes of tensors."""
    topology, size = Topology(context.reference), len(stored.values or ())
    same_operator = [each for each in context.reference.nodes if each.op == node.op]
    names = [name for each in (*context.counterparts, *same_operator) for name in each.inputs]
    names = [n for n in dict.fromkeys(names) if n in topology.live and _whole(context.reference, n)]
    for name in SIZES.first(names):
        value = context.value(context.reference, name)
        if value is None or value.dtype.kind not in "iu":
            continue
        # A list of sizes may have another length: an axis too many, or one too few.
        if value.size == size or (value.ndim == 1 and len(stored.shape) == 1):
            yield message("shape.reference", tensor=name), value
    # PyTorch keeps computed sizes inside the call: then tensors themselves show them.
    if _dynamic(context.reference) and not _stored_there(context, node, size):
        yield from _single(context, node, stored)


def _like(stored: Constant, value: Array) -> tuple[int, ...]:
    """The shape in which the node reads these sizes."""
    same = value.size == len(stored.values or ())
    return stored.shape if same else value.shape


def _single(context: FaultContext, node: Node, stored: Constant) -> Iterator[tuple[str, Array]]:
    """One size at a time replaced by a size of what goes in or should come out."""
    into = context.value(context.candidate, node.inputs[0]) if node.inputs else None
    sizes = dict.fromkeys((*(into.shape if into is not None else ()), *context.right.shape))
    now = np.asarray(stored.values)
    for place in range(now.size):
        for size in sizes:
            if size != now[place]:
                changed = now.copy()
                changed[place] = size
                yield message("shape.this_input"), changed


def _stored_there(context: FaultContext, node: Node, size: int) -> bool:
    """Whether the reference's own node reads as many whole numbers that are stored: no sizes."""
    own = (name for each in context.counterparts if each.op == node.op for name in each.inputs)
    constants = (
        context.reference.constants[name] for name in own if name in context.reference.constants
    )
    return any("int" in each.dtype and int(np.prod(each.shape)) == size for each in constants)


def _whole(graph: Graph, name: str) -> bool:
    spec = graph.tensors.get(name)
    return spec is None or spec.dtype is None or "int" in spec.dtype


def _dynamic(graph: Graph) -> bool:
    return any(
        not isinstance(size, int) for spec in graph.inputs for size in (spec.shape or (None,))
    )


def _frozen(
    node: Node, name: str, stored: tuple[object, ...], value: Array, ref_name: str
) -> Diagnosis:
    right = [int(each) for each in value.reshape(-1)][:_MOST_SHOWN]
    frozen = len(stored) == value.size
    return Diagnosis(
        cause="shape",
        certainty=Certainty.CONFIRMED,
        summary=message(
            "shape.frozen" if frozen else "shape.sizes",
            op=node.op,
            stored=list(stored),
            right=right,
        ),
        evidence={Fact.CONSTANT: name, "frozen": list(stored), Fact.SIZES: right},
        experiments=(experiment("shape.size", constant=name, right=ref_name),),
        fix=message("FIX.dynamic_axis")
        if frozen
        else message("FIX.read_sizes", op=node.op, tensor=ref_name),
    )
