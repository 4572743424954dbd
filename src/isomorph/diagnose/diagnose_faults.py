"""From two evaluated models that differ to findings: the faulty nodes, each with its cause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from isomorph.core.messages import message
from isomorph.core.messages.phrases import named_node
from isomorph.core.report import Fact
from isomorph.core.stated_numbers import LAYER_NODES
from isomorph.diagnose.build_context import fault_contexts
from isomorph.diagnose.diagnose import with_cause
from isomorph.diagnose.subgraph_faults import subgraph_findings
from isomorph.localize.findings import findings as fault_findings
from isomorph.localize.findings import suspect_large_group
from isomorph.localize.locate import locate

if TYPE_CHECKING:
    from isomorph.core.model import Graph
    from isomorph.core.report import Finding
    from isomorph.localize.locate import Located
    from isomorph.measure.evaluated_model import EvaluatedModel


def diagnosed_faults(
    reference: EvaluatedModel,
    candidate: EvaluatedModel,
    outputs: Sequence[tuple[str, str]],
    located: Located | None = None,
) -> tuple[list[Finding], Located]:
    """Findings for the faulty nodes with their causes, and the localization behind them."""
    located = located or locate(reference, candidate, outputs)
    if located.unrelated is not None:
        return [located.unrelated], located
    chain, matcher = located.chain, located.matcher
    by_node = dict(fault_contexts(chain.faults, matcher, candidate.handle))
    known = reference.model.framework, candidate.model.framework
    found = [
        with_cause(finding, by_node[finding.node], known) if finding.node in by_node else finding
        for finding in fault_findings(chain, reference.model.graph, candidate.model.graph)
    ]
    sides = reference.handle, candidate.handle
    inner_findings = [
        inner for finding in found for inner in subgraph_findings(finding, located, sides)
    ]
    graph = candidate.model.graph
    return [suspect_large_group(_narrowed(finding, graph)) for finding in inner_findings], located


def _narrowed(finding: Finding, graph: Graph) -> Finding:
    """The finding named by the node that an experiment confirmed: one of several, or one before.

    Nodes that only pass values on may lie between a missing node and the first wrong one.
    """
    member = next((n for n in graph.nodes if n.name == finding.fact(Fact.MEMBER)), None)
    if member is None:
        return finding
    tensors = tuple(dict.fromkeys((*filter(None, member.outputs), *finding.tensors)))
    found = replace(finding, node=member.name, tensors=tensors[: max(len(finding.tensors), 1)])
    if finding.statement is None or len(finding.nodes) <= LAYER_NODES:
        return found
    # A layer that was written out node by node has as many nodes as nobody looks through.
    place = message(
        "GUILTY_NODE.member", place=named_node(member.op, member.name), count=len(finding.nodes),
        node=finding.node,
    )  # fmt: skip
    statement = replace(finding.statement, place=place)
    return replace(found, statement=statement, summary=statement.text)
