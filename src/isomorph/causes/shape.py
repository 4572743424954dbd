"""A size that followed the input was frozen when the model was exported."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.fault_context import Diagnosis, FaultContext
from isomorph.core.limits import SIZES
from isomorph.diagnose.experiments import put_right
from isomorph.match.topology import Topology

if TYPE_CHECKING:
    from isomorph.core.model import Constant, Graph, Node
    from isomorph.core.trace import Array

_MOST_TOLD = 16


class Shape:
    """A batch size, a length or a size of an image that is a constant in the candidate.

    Recognized where the guilty node reads whole numbers that are stored, and the reference
    computes the same numbers from the shape of its input: with the numbers that belong to this
    input in their place, the node is right. Such a model agrees at the size it was exported
    with, and at no other.
    """

    name = "shape"

    def examine(self, case: FaultContext) -> Iterator[Diagnosis]:
        """Put in, for each stored size, what the reference computes for this input."""
        for node in _readers(case):
            for name in node.inputs:
                stored = case.candidate.constants.get(name)
                if stored is None or "int" not in stored.dtype or stored.values is None:
                    continue
                for theirs, value in _computed(case, node, stored):
                    changed = value.reshape(_like(stored, value))
                    if tuple(changed.reshape(-1)) == stored.values:
                        continue
                    if case.restores({name: changed.astype(stored.dtype)}):
                        yield _frozen(node, name, stored.values, changed, theirs)
                        return


def _readers(case: FaultContext) -> Iterator[Node]:
    """The guilty nodes, then those that make of constants alone what the guilty ones read."""
    topology = Topology(case.candidate)
    open_ends, seen = list(case.nodes), set[str]()
    while open_ends:
        node = open_ends.pop(0)
        if node.name not in seen:
            seen.add(node.name)
            yield node
            makers = (topology.maker.get(n) for n in node.inputs if n not in topology.live)
            open_ends += [maker for maker in makers if maker is not None]


def _computed(case: FaultContext, node: Node, stored: Constant) -> Iterator[tuple[str, Array]]:
    """Sizes that belong to this input: what the reference computes, then the sizes of tensors."""
    topology, size = Topology(case.reference), len(stored.values or ())
    alike = [each for each in case.reference.nodes if each.op == node.op]
    names = [name for each in (*case.counterparts, *alike) for name in each.inputs]
    names = [n for n in dict.fromkeys(names) if n in topology.live and _whole(case.reference, n)]
    for name in SIZES.first(names):
        value = case.value(case.reference, name)
        if value is None or value.dtype.kind not in "iu":
            continue
        # A list of sizes may have another length: an axis too many, or one too few.
        if value.size == size or (value.ndim == 1 and len(stored.shape) == 1):
            yield f"the reference's {name!r}", value
    # PyTorch keeps computed sizes inside the call: then tensors themselves show them.
    if _dynamic(case.reference) and not _stored_there(case, node, size):
        yield from _single(case, node, stored)


def _like(stored: Constant, value: Array) -> tuple[int, ...]:
    """The shape in which the node reads these sizes."""
    same = value.size == len(stored.values or ())
    return stored.shape if same else value.shape


def _single(case: FaultContext, node: Node, stored: Constant) -> Iterator[tuple[str, Array]]:
    """One size at a time replaced by a size of what goes in or should come out."""
    into = case.value(case.candidate, node.inputs[0]) if node.inputs else None
    sizes = dict.fromkeys((*(into.shape if into is not None else ()), *case.right.shape))
    now = np.asarray(stored.values)
    for place in range(now.size):
        for size in sizes:
            if size != now[place]:
                changed = now.copy()
                changed[place] = size
                yield "the sizes of this input", changed


def _stored_there(case: FaultContext, node: Node, size: int) -> bool:
    """Whether the reference's own node reads as many whole numbers that are stored: no sizes."""
    own = (name for each in case.counterparts if each.op == node.op for name in each.inputs)
    held = (case.reference.constants[name] for name in own if name in case.reference.constants)
    return any("int" in each.dtype and int(np.prod(each.shape)) == size for each in held)


def _whole(graph: Graph, name: str) -> bool:
    spec = graph.tensors.get(name)
    return spec is None or spec.dtype is None or "int" in spec.dtype


def _dynamic(graph: Graph) -> bool:
    return any(
        not isinstance(size, int) for spec in graph.inputs for size in (spec.shape or (None,))
    )


def _frozen(
    node: Node, name: str, stored: tuple[object, ...], value: Array, theirs: str
) -> Diagnosis:
    right = [int(each) for each in value.reshape(-1)][:_MOST_TOLD]
    frozen = " that were frozen" if len(stored) == value.size else ""
    return Diagnosis(
        cause="shape",
        certainty=3,
        summary=f"{node.op} reads sizes {list(stored)}{frozen}; for this input they are {right}",
        evidence={"constant": name, "frozen": list(stored), "sizes": right},
        experiments=(put_right(f"Is {name!r} a size of another input?", f"it gets {theirs}"),),
        fix="export with this axis marked dynamic, or compute the size from the input's shape"
        if frozen
        else f"let {node.op} read {theirs} as its sizes",
    )
