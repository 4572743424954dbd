"""Findings for faulty nodes, with the experiments that prove them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

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
    ref_nodes = tuple(dict.fromkeys(name for each in faults for name in each.reference_nodes))
    counterpart = reference[ref_nodes[-1]] if ref_nodes else None
    return Finding(
        code="GUILTY_NODE",
        status=FindingStatus.CONFIRMED
        if all(each.proven for each in faults)
        else FindingStatus.SUSPECTED,
        effect=FindingEffect.REACHES_OUTPUT,
        summary=_summary(node, first, counterpart),
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


def _summary(node: Node, fault: Fault, counterpart: Node | None) -> str:
    like = f"{counterpart.name!r} ({counterpart.op})" if counterpart is not None else "an input"
    if fault.permuted:
        return (
            f"node {node.name!r} ({node.op}) has the values of the reference's {like} "
            "in another order, although its inputs are right"
        )
    group = f", with {len(fault.nodes) - 1} nodes before it," if len(fault.nodes) > 1 else ""
    if _resized(fault):
        return (
            f"node {node.name!r} ({node.op}){group} makes a tensor of {_sizes(fault.shape)}, and "
            f"the reference's {like} one of {_sizes(fault.value.shape)} from the same inputs"
        )
    far = f"{fault.local_error:.2g}"
    far += " of its size" if np.any(fault.value) else ", where all should be zero,"
    return (
        f"node {node.name!r} ({node.op}){group} is off by {far} "
        f"although its inputs are right; the reference's is {like}"
    )


def suspect_large_group(finding: Finding) -> Finding:
    """Lower a finding to suspected if its group of nodes is too large to locate the fault."""
    many = len(finding.nodes)
    if many <= LAYER_NODES or finding.fact(Fact.MEMBER) is not None:
        return finding
    return replace(
        finding,
        status=FindingStatus.SUSPECTED,
        cause=None,
        fix=None,
        summary=f"somewhere in the {many} nodes up to {finding.node!r}, which share no tensor with "
        f"the reference before it: {finding.summary}",
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
    share = "" if fault.share is None else f"; alone it removes {fault.share:.1%} of the error"
    return Experiment(
        question=f"Is everything wrong because of {fault.tensor!r}?",
        change=f"{fault.tensor!r} gets the reference's {fault.counterpart!r}, all else untouched",
        predicts="the outputs agree with it, and disagree without it",
        seen=("they do" if fault.proven else "not all outputs agree") + share,
        agrees=fault.proven,
    )
