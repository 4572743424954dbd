"""Replace the finding about a branch or loop by findings about nodes inside its bodies."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from isomorph.core.errors import IsomorphError
from isomorph.core.limits import NESTED_BODIES
from isomorph.core.messages import message
from isomorph.core.report import Finding, FindingStatus
from isomorph.diagnose.build_context import fault_contexts
from isomorph.diagnose.diagnose import with_cause
from isomorph.localize.findings import findings
from isomorph.localize.subgraph_search import BodyFault, search_body

if TYPE_CHECKING:
    from isomorph.localize.locate import Located
    from isomorph.sessions.model_handle import ModelHandle

_MOST_TENSORS = 3


def subgraph_findings(
    finding: Finding,
    located: Located,
    sides: tuple[ModelHandle | None, ModelHandle | None],
    depth: int = 0,
) -> list[Finding]:
    """Findings inside the bodies of a faulty node; the finding itself where there are none."""
    reference, candidate = sides
    node = {each.name: each for each in located.matcher.candidate.graph.nodes}.get(
        finding.node or ""
    )
    if node is None or not node.bodies or reference is None or candidate is None:
        return [finding]
    if finding.cause == "attribute" and finding.fix:
        return [finding]  # another attribute of the node itself sends other values through its body
    faults = located.chain.faults
    fault = next(each for each in faults if each.node == finding.node)
    earlier = {each.tensor: each.value for each in faults[: faults.index(fault)]}
    with TemporaryDirectory(prefix="isomorph-bodies-") as folder:
        try:
            pair = (reference, candidate)
            within = search_body(fault, located, earlier, pair, Path(folder))
            found = [] if within is None else _found(finding, within, depth)
        except (IsomorphError, ValueError, KeyError) as error:
            # If a body cannot be cut out, the finding about its node stays.
            text = error.sentence if isinstance(error, IsomorphError) else str(error)
            return [replace(finding, evidence={**finding.evidence, "bodies": text})]
    return found or [finding]


def _found(outer: Finding, within: BodyFault, depth: int) -> list[Finding]:
    chain, matcher = within.located.chain, within.located.matcher
    known = within.reference.model.framework, within.candidate.model.framework
    by_node = dict(fault_contexts(chain.faults, matcher))
    found: list[Finding] = []
    for each in findings(chain, matcher.reference.graph, matcher.candidate.graph):
        text = with_cause(each, by_node[each.node], known) if each.node in by_node else each
        sides = (within.reference.handle, within.candidate.handle)
        deeper = [text]
        if depth < NESTED_BODIES.most:
            deeper = subgraph_findings(text, within.located, sides, depth + 1)
        elif _holds_bodies(text, within):
            NESTED_BODIES.reached()
        found += [in_outer_names(inner, outer, within) for inner in deeper]
    return found


def _holds_bodies(finding: Finding, within: BodyFault) -> bool:
    nodes = within.located.matcher.candidate.graph.nodes
    return any(node.bodies for node in nodes if node.name == finding.node)


def in_outer_names(inner: Finding, outer: Finding, within: BodyFault) -> Finding:
    """A finding in a body with full names and the share of the node that holds the body."""
    proven = inner.status == outer.status == FindingStatus.CONFIRMED
    cand, ref = within.candidate_names, within.reference_names
    written = [ref.source(name) for name in reversed(inner.reference_nodes)]
    written += [cand.source(inner.node or ""), outer.source]
    tensors = [cand.tensor(name) for name in inner.tensors[:2]]
    statement = None
    if inner.statement is not None:
        place = message(
            "GUILTY_NODE.inside",
            place=_renamed(inner.statement.place, inner, within),
            outer=outer.node,
            round=within.round + 1,
        )
        statement = replace(inner.statement, place=place)
    return replace(
        inner,
        node=cand.node(inner.node or ""),
        nodes=tuple(cand.node(name) for name in inner.nodes),
        # Where it goes wrong inside, and where that comes out.
        tensors=tuple(dict.fromkeys((*tensors, *outer.tensors)))[:_MOST_TENSORS],
        reference_nodes=tuple(ref.node(name) for name in inner.reference_nodes),
        status=FindingStatus.CONFIRMED if proven else FindingStatus.SUSPECTED,
        share=outer.share,
        summary=statement.text if statement is not None else inner.summary,
        statement=statement,
        source=next((source for source in written if source is not None), inner.source),
        experiments=(*inner.experiments, *outer.experiments[:1]),
        faults=(),  # its names are those of the body
        evidence={**inner.evidence, "inside": outer.node, "round": within.round + 1},
    )


def _renamed(place: str, inner: Finding, within: BodyFault) -> str:
    """The place with node names of the whole model."""
    cand, ref = within.candidate_names, within.reference_names
    names = [(inner.node or "", cand), *((name, ref) for name in inner.reference_nodes[-1:])]
    for name, known in names:
        short = known.node(name).removeprefix(known.prefix)
        place = place.replace(repr(name), repr(short), 1)
    return place
