"""Nodes of the candidate that the reference has none for.

Recognized by leaving them out: what they read, read in the place of what they make, is right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from isomorph.core.diagnosis_limits import ADDED_NODES
from isomorph.core.experiments import experiment
from isomorph.core.fault_context import Certainty, Diagnosis, FaultContext
from isomorph.core.messages import message
from isomorph.core.ops import RESHAPES
from isomorph.core.patch import Patch, SetInput
from isomorph.core.report import Fact
from isomorph.match.topology import Topology
from isomorph.measure.precision import QUANTIZED_OPS

if TYPE_CHECKING:
    from isomorph.core.model import Node

_PASSING_ON = RESHAPES | {"Cast", "CastLike", "Identity"}
"""Operators that compute nothing: leaving them out explains no wrong number."""
_SCALING = frozenset({"Mul", "Div", "Add", "Sub"})
"""Operators that prepare the numbers for another one: that one names the sequence."""

_LONGEST = 6
"""Nodes in a row that are left out at once: a function that is spelled out, with its numbers."""


def added_nodes(context: FaultContext) -> Diagnosis | None:
    """The diagnosis for nodes that change a tensor which the reference uses as it is."""
    if not context.counterparts:
        if context.node.op in _PASSING_ON:
            return None  # another type or shape is a cause of its own
        names = [name for name in context.node.inputs if name]
        found = next((name for name in names if _is_right(context, name)), None)
        return None if found is None else _diagnosis(context, found, [context.node])
    return next(_left_out(context), None)


def _left_out(context: FaultContext) -> Iterator[Diagnosis]:
    """Sequences of nodes without which the wrong tensor is right, the shortest first."""
    topology = Topology(context.candidate)
    for source, nodes in ADDED_NODES.first(_sequences(context, topology)):
        made = nodes[-1].outputs[0]
        if made == context.tensor:
            # A counterpart that reads the same has the same task, with another parameter.
            restored = _is_right(context, source) and not _reads_it_too(context, source)
        else:
            edits = tuple(
                SetInput(node=reader.name, index=index, tensor=source)
                for reader in topology.readers.get(made, ())
                for index, name in enumerate(reader.inputs)
                if name == made
            )
            found = context.rehearse(Patch(summary="", edits=edits)) if edits else None
            restored = found is not None and context.equals(found)
        if restored:
            yield _diagnosis(context, source, nodes)


def _sequences(context: FaultContext, topology: Topology) -> Iterator[tuple[str, tuple[Node, ...]]]:
    """Nodes of one wrong place in a row, and what the first of them reads and could pass on."""
    # What quantizers lose is examined with their grids.
    inside = {node.name for node in context.nodes if node.op not in QUANTIZED_OPS}
    bound = {spec.name for spec in context.candidate.outputs} - {context.tensor}
    rows: dict[tuple[str, str], tuple[Node, ...]] = {
        (source, node.outputs[0]): (node,)
        for node in context.nodes
        if node.name in inside
        for source in topology.sources(node)
    }
    seen = set(rows)
    for _ in range(_LONGEST):
        for (source, made), row in rows.items():
            computes = any(node.op not in _PASSING_ON for node in row)
            if computes and made not in bound and _alike(context, source, made):
                yield source, row
        rows = {
            (source, reader.outputs[0]): (*row, reader)
            for (source, made), row in rows.items()
            for reader in topology.readers.get(made, ())
            if reader.name in inside and (source, reader.outputs[0]) not in seen
        }
        seen.update(rows)


def _alike(context: FaultContext, one: str, other: str) -> bool:
    """Whether two tensors have the same shape and kind of number."""
    left, right = (context.value(context.candidate, name) for name in (one, other))
    if left is None or right is None:
        return False
    return left.shape == right.shape and left.dtype.kind == right.dtype.kind


def _is_right(context: FaultContext, name: str) -> bool:
    """Whether a tensor holds what the wrong one should hold."""
    value = context.value(context.candidate, name)
    return value is not None and value.shape == context.right.shape and context.equals(value)


def _reads_it_too(context: FaultContext, source: str) -> bool:
    """Whether the counterparts compute the right tensor from the same one."""
    topology = Topology(context.reference)
    made = {name for node in context.counterparts for name in node.outputs}
    read = {name for node in context.counterparts for name in topology.sources(node)} - made
    return any(context.matching_tensor(name) == source for name in read)


def _diagnosis(context: FaultContext, source: str, nodes: Sequence[Node]) -> Diagnosis:
    named = [node for node in nodes if node.op not in _PASSING_ON | _SCALING] or [nodes[-1]]
    words = " and ".join(dict.fromkeys(node.op for node in nodes))
    verb = "changes" if len(nodes) == 1 else "change"
    made = nodes[-1].outputs[0]
    return Diagnosis(
        cause="missing_op",
        certainty=Certainty.CONFIRMED,
        summary=message("missing_op.added", words=words, verb=verb, source=source),
        evidence={Fact.OPERATORS: list(dict.fromkeys(node.op for node in nodes))},
        experiments=(experiment("missing_op.left_out", right=source, tensor=made),),
        fix=message("FIX.leave_out", ops=words),
        node=named[0].name,
    )
