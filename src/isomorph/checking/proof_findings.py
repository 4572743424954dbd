"""Which nodes a proof covers, and why the others are open."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from isomorph.core.proof import NodeProof, Standing
from isomorph.proof.bodies import reads

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.proof.prover import Prover
    from isomorph.proof.side import Side


def findings_of(prover: Prover, side: Side, role: str) -> tuple[NodeProof, ...]:
    """Each node of a side.

    A node is proven if its outputs equal tensors of the other side, or if everything that reads
    them is proven: then it lies inside a group that is equal as a whole.
    """
    proven = covered(prover, side)
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


def covered(prover: Prover, side: Side) -> dict[str, bool]:
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
