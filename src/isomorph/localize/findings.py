"""Findings for faulty nodes, with the experiments that prove them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.escaping import counted
from isomorph.core.experiments import experiment
from isomorph.core.messages import message
from isomorph.core.messages.phrases import named_node, percentage
from isomorph.core.messages.statement import Statement
from isomorph.core.report import (
    Experiment,
    Fact,
    FaultRecord,
    Finding,
    FindingEffect,
    FindingStatus,
)
from isomorph.core.stated_numbers import LAYER_NODES

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node, Source
    from isomorph.localize.fault import Fault, FaultChain

_MOST_TENSORS = 3


def findings(chain: FaultChain, reference: Graph, candidate: Graph) -> Iterator[Finding]:
    """Yield one finding for each faulty node, in graph order."""
    by_node: dict[str, list[Fault]] = {}
    records: dict[str, list[FaultRecord]] = {}
    for place, fault in enumerate(chain.faults):
        by_node.setdefault(fault.node, []).append(fault)
        records.setdefault(fault.node, []).append(_record(fault, place, len(chain.faults)))
    here = {node.name: node for node in candidate.nodes}
    there = {node.name: node for node in reference.nodes}
    for name, faults in by_node.items():
        finding = _finding(here[name], faults, there, candidate)
        yield replace(finding, faults=tuple(records[name]))


def _record(fault: Fault, place: int, count: int) -> FaultRecord:
    return FaultRecord(
        node=fault.node,
        nodes=fault.nodes,
        tensor=fault.tensor,
        counterpart=fault.counterpart,
        reference_nodes=fault.reference_nodes,
        permutation=fault.moved.permutation,
        shape=fault.moved.shape,
        permuted=fault.permuted,
        place=place,
        count=count,
    )


def _finding(
    node: Node, faults: Sequence[Fault], reference: dict[str, Node], candidate: Graph
) -> Finding:
    first = faults[0]
    own_run = reference.get(node.name) is node
    ref_nodes = tuple(dict.fromkeys(name for each in faults for name in each.reference_nodes))
    counterpart = reference[ref_nodes[-1]] if ref_nodes else None
    statement = Statement(
        place=_place(node, first, None if own_run else counterpart),
        observed=_observed(first, own_run=own_run),
    )
    return Finding(
        code="GUILTY_NODE",
        status=FindingStatus.CONFIRMED
        if all(each.proven for each in faults)
        else FindingStatus.SUSPECTED,
        effect=FindingEffect.REACHES_OUTPUT,
        summary=statement.text,
        statement=statement,
        node=node.name,
        nodes=tuple(dict.fromkeys(name for each in faults for name in each.nodes)),
        tensors=_tensors(node, faults, candidate),
        reference_nodes=ref_nodes,
        source=_source(counterpart, node),
        local_error=max((g.local_error for g in faults if not _resized(g)), default=None),
        inherited_error=0.0,
        share=max((each.share for each in faults if each.share is not None), default=None),
        evidence={"where": first.where} if first.where else {},
        experiments=tuple(restored_by(each) for each in faults),
    )


def _place(node: Node, fault: Fault, counterpart: Node | None) -> str:
    before = len(fault.nodes) - 1
    place = named_node(node.op, node.name)
    if before > 0:
        place = message("GUILTY_NODE.group", place=place, others=counted(before, "node"))
    return place + counterpart_of(node, counterpart)


def counterpart_of(node: Node, counterpart: Node | None) -> str:
    """The reference's node in parentheses; empty where it has the same name and operator."""
    if counterpart is None or (counterpart.name, counterpart.op) == (node.name, node.op):
        return ""
    op = "" if counterpart.op == node.op else f"{counterpart.op} "
    return message("GUILTY_NODE.counterpart", node=f"{op}{counterpart.name!r}")


def _observed(fault: Fault, *, own_run: bool) -> str:
    if fault.permuted:
        return message("GUILTY_NODE.permuted")
    if _resized(fault):
        return message(
            "GUILTY_NODE.resized", made=_sizes(fault.shape), expected=_sizes(fault.value.shape)
        )
    if not np.any(fault.value):
        return message("GUILTY_NODE.nonzero", error=fault.local_error)
    key = "GUILTY_NODE.run_differs" if own_run else "GUILTY_NODE.differs"
    return message(key, error=percentage(fault.local_error))


def remarked(finding: Finding, remark: str) -> Finding:
    """The finding with what holds beyond its place."""
    if finding.statement is None:
        return replace(finding, summary=f"{finding.summary}. {remark[:1].upper()}{remark[1:]}")
    statement = replace(finding.statement, remark=remark)
    return replace(finding, statement=statement, summary=statement.text)


def suspect_large_group(finding: Finding) -> Finding:
    """Lower a finding to suspected if its group of nodes is too large to locate the fault."""
    many = len(finding.nodes)
    if many <= LAYER_NODES or finding.fact(Fact.MEMBER) is not None:
        return finding
    place = message("GUILTY_NODE.large_group", count=many, node=finding.node)
    statement = None if finding.statement is None else replace(finding.statement, place=place)
    return replace(
        finding,
        status=FindingStatus.SUSPECTED,
        cause=None,
        fix=None,
        statement=statement,
        summary=f"{place}: {finding.summary}" if statement is None else statement.text,
    )


def _resized(fault: Fault) -> bool:
    """Whether the tensor has another shape than the right one, so that no distance exists."""
    return fault.shape not in (None, fault.value.shape)


def _sizes(shape: tuple[int, ...] | None) -> str:
    return "×".join(map(str, shape or ())) or "no axes"


def _tensors(node: Node, faults: Sequence[Fault], candidate: Graph) -> tuple[str, ...]:
    """Return the corrected tensors, then the node's own, then those of the nodes before it."""
    makers = {each.name: each for each in candidate.nodes}
    before = [n for each in faults for name in reversed(each.nodes) for n in makers[name].outputs]
    names = [*(each.tensor for each in faults), *node.outputs, *before]
    return tuple(dict.fromkeys(name for name in names if name))[:_MOST_TENSORS]


def _source(counterpart: Node | None, node: Node) -> Source | None:
    """Return the location in the user's program, preferably the reference's."""
    if counterpart is not None and counterpart.source is not None:
        return counterpart.source
    return node.source


def restored_by(fault: Fault) -> Experiment:
    """The experiment that proves a fault: what its tensor alone restores."""
    return experiment(
        "fault.tensor" if fault.share is None else "fault.tensor_alone",
        agrees=fault.proven,
        tensor=fault.tensor,
        right=fault.counterpart,
        share=fault.share,
    )
