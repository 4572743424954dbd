"""Which nodes a proof covers, and why the others are open."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from isomorph.core.proof import NodeProof, OpenReason, Reason, Standing
from isomorph.proof.bodies import reads

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.proof.prover import Prover
    from isomorph.proof.side import Side
    from isomorph.proof.term import Term


def findings_of(prover: Prover, side: Side, role: str) -> tuple[NodeProof, ...]:
    """Each node of a side.

    A node is proven if its outputs equal tensors of the other side, or if everything that reads
    them is proven: then it lies inside a group that is equal as a whole.
    """
    proven = _covered(prover, side)
    other = prover.reference if side is prover.candidate else prover.candidate
    names: dict[int, str] = {}
    for name, there_term in other.terms_of.items():
        names.setdefault(prover.terms.known(there_term).id, name)
    found: list[NodeProof] = []
    for node in side.graph.nodes:
        terms = [side.terms_of[name] for name in node.outputs if name in side.terms_of]
        equal = [names.get(prover.terms.known(each).id, "") for each in terms]
        found.append(
            NodeProof(
                side=role,
                node=node.name,
                op=node.native_op,
                standing=Standing.PROVEN if proven[node.name] else Standing.OPEN,
                equal_to=next(filter(None, equal), ""),
                open=None if proven[node.name] else side.refused.get(node.name),
            )
        )
    return tuple(found)


def _covered(prover: Prover, side: Side) -> dict[str, bool]:
    """Whether each node's outputs, or everything that reads them, are equal on both sides."""
    readers: dict[str, list[Node]] = defaultdict(list)
    for node in side.graph.nodes:
        for name in reads(node):
            readers[name].append(node)
    outputs = {spec.name for spec in side.graph.outputs}
    proven: dict[str, bool] = {}
    for node in reversed(side.graph.nodes):
        whole = node.name not in side.refused
        for name in filter(None, node.outputs):
            term = side.terms_of.get(name)
            there = term is not None and prover.in_both(term)
            inside = name not in outputs and all(proven[each.name] for each in readers[name])
            whole = whole and (there or inside)
        proven[node.name] = whole
    return proven


def first_open(
    prover: Prover, side: Side, output: str, *, meanings_alone: bool = False
) -> OpenReason | None:
    """Why an output is open: the first node before it that is, on this side."""
    needed, found, domain = {output}, None, None
    done = _covered(prover, side)
    static = {
        node.name
        for node in side.graph.nodes
        if all(name in side.terms_of and _is_static(side.terms_of[name]) for name in node.outputs)
    }
    for node in reversed(side.graph.nodes):
        if not needed.intersection(node.outputs):
            continue
        needed.update(reads(node))
        reason = side.refused.get(node.name)
        if node.name in prover.domains:
            domain = OpenReason(reason=Reason.DOMAIN, node=node.name, op=node.native_op)
        if reason is not None:
            found = reason
        elif not meanings_alone and not done[node.name] and node.name not in static:
            found = _why(prover, side, node)
    # What is open before it does not matter, as the values are equal behind it.
    return domain if domain is not None and not meanings_alone else found


def _is_static(term: Term) -> bool:
    """Whether a term follows from constants and sizes alone."""
    return term.static or term.op == "sizes"


def _why(prover: Prover, side: Side, node: Node) -> OpenReason:
    name = node.name
    other = prover.reference if side is prover.candidate else prover.candidate
    stored = {each.digest for each in other.graph.constants.values()}
    for each in node.inputs:
        constant = side.graph.constants.get(each)
        if constant is None or "float" not in constant.dtype or each in side.explained:
            continue
        if constant.digest not in stored:
            return OpenReason(
                reason=Reason.UNEXPLAINED_CONSTANT, node=name, op=node.native_op, details=each
            )
    return OpenReason(reason=Reason.DIFFERENT_IDENTITY, node=name, op=node.native_op)
