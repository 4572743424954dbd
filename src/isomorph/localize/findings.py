"""The guilty nodes in words, with what proves their guilt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.report import Experiment, Finding

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node, Source
    from isomorph.localize.fault import Guilt, Trail

_MOST_TENSORS = 3
MOST_NODES = 12
"""A layer that is spelled out has so many nodes; a larger group holds several, and names none."""


def findings(trail: Trail, reference: Graph, candidate: Graph) -> Iterator[Finding]:
    """One finding for each guilty node, in the order of the graph."""
    by_node: dict[str, list[Guilt]] = {}
    for guilt in trail.guilts:
        by_node.setdefault(guilt.node, []).append(guilt)
    here = {node.name: node for node in candidate.nodes}
    there = {node.name: node for node in reference.nodes}
    for name, guilts in by_node.items():
        yield _finding(here[name], guilts, there, candidate)


def _finding(
    node: Node, guilts: Sequence[Guilt], reference: dict[str, Node], candidate: Graph
) -> Finding:
    first = guilts[0]
    theirs = tuple(dict.fromkeys(name for each in guilts for name in each.reference_nodes))
    counterpart = reference[theirs[-1]] if theirs else None
    return Finding(
        rank=0,
        code="GUILTY_NODE",
        cause=None,
        status="confirmed" if all(each.proven for each in guilts) else "suspected",
        effect="reaches_output",
        summary=_summary(node, first, counterpart),
        node=node.name,
        nodes=tuple(dict.fromkeys(name for each in guilts for name in each.nodes)),
        tensors=_tensors(node, guilts, candidate),
        reference_nodes=theirs,
        source=_source(counterpart, node),
        local_error=max((g.local_error for g in guilts if not _resized(g)), default=None),
        inherited_error=0.0,
        share=max((each.share for each in guilts if each.share is not None), default=None),
        evidence={"where": first.where} if first.where else {},
        experiments=tuple(_experiment(each) for each in guilts),
    )


def _summary(node: Node, guilt: Guilt, counterpart: Node | None) -> str:
    like = f"{counterpart.name!r} ({counterpart.op})" if counterpart is not None else "an input"
    if guilt.scattered:
        return (
            f"node {node.name!r} ({node.op}) has the values of the reference's {like} "
            "in another order, although its inputs are right"
        )
    crowd = f", with {len(guilt.nodes) - 1} nodes before it," if len(guilt.nodes) > 1 else ""
    if _resized(guilt):
        return (
            f"node {node.name!r} ({node.op}){crowd} makes a tensor of {_sizes(guilt.shape)}, and "
            f"the reference's {like} one of {_sizes(guilt.value.shape)} from the same inputs"
        )
    far = f"{guilt.local_error:.2g}"
    far += " of its size" if np.any(guilt.value) else ", where all should be zero,"
    return (
        f"node {node.name!r} ({node.op}){crowd} is off by {far} "
        f"although its inputs are right; the reference's is {like}"
    )


def in_the_open(finding: Finding) -> Finding:
    """A group too large to be a place: what is known is that the fault lies in it, not where."""
    many = len(finding.nodes)
    if many <= MOST_NODES or "member" in finding.evidence:
        return finding
    return replace(
        finding,
        status="suspected",
        cause=None,
        fix=None,
        summary=f"somewhere in the {many} nodes up to {finding.node!r}, which share no tensor with "
        f"the reference before it: {finding.summary}",
    )


def _resized(guilt: Guilt) -> bool:
    """Whether the tensor has another shape than the right one: then no distance is one."""
    return guilt.shape not in (None, guilt.value.shape)


def _sizes(shape: tuple[int, ...] | None) -> str:
    return "×".join(map(str, shape or ())) or "no axes"


def _tensors(node: Node, guilts: Sequence[Guilt], candidate: Graph) -> tuple[str, ...]:
    """The tensors put right, then the node's own, then those of the nodes before it."""
    makers = {each.name: each for each in candidate.nodes}
    before = [n for each in guilts for name in reversed(each.nodes) for n in makers[name].outputs]
    wanted = [*(each.tensor for each in guilts), *node.outputs, *before]
    return tuple(dict.fromkeys(name for name in wanted if name))[:_MOST_TENSORS]


def _source(counterpart: Node | None, node: Node) -> Source | None:
    """Where the user wrote it: the reference knows best."""
    if counterpart is not None and counterpart.source is not None:
        return counterpart.source
    return node.source


def _experiment(guilt: Guilt) -> Experiment:
    share = "" if guilt.share is None else f"; alone it removes {guilt.share:.1%} of the error"
    return Experiment(
        question=f"Is everything wrong because of {guilt.tensor!r}?",
        change=f"{guilt.tensor!r} gets the reference's {guilt.counterpart!r}, all else untouched",
        predicts="the outputs agree with it, and disagree without it",
        seen=("they do" if guilt.proven else "not all outputs agree") + share,
        agrees=guilt.proven,
    )
