"""The first nodes at which two models differ, where no tensor can be substituted.

A trace holds the values of a run and not the model, and strings and lists of tensors have no
distance, so no substitution can prove a fault. What remains is the graph order: the nodes whose
inputs match and whose outputs do not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from isomorph.core.limits import FIRST_NODES
from isomorph.core.messages import message
from isomorph.core.messages.phrases import named_node, percentage
from isomorph.core.report import Finding, FindingEffect, FindingStatus
from isomorph.core.trace import Noise
from isomorph.localize.fault_search import Search
from isomorph.localize.locate import match_values
from isomorph.localize.value_matcher import match_captures
from isomorph.match.tensor_capture import TensorCapture
from isomorph.oracle.sizes import rms_and_peak

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.core.protocols import Session
    from isomorph.match.value_match import ValueMatcher
    from isomorph.measure.evaluated_model import EvaluatedModel


def first_differing_nodes(
    reference: EvaluatedModel, candidate: EvaluatedModel, outputs: Sequence[tuple[str, str]]
) -> Iterator[Finding]:
    """Report the first nodes of the candidate whose values the reference does not have."""
    search = Search(match_values(reference, candidate), outputs, {})
    for node in _begin(search):
        yield _of_trace(node, message("FIRST_APART.no_match"))


def makers_of_wrong_outputs(matcher: ValueMatcher, wrong: Sequence[str]) -> Iterator[Finding]:
    """Report the nodes that compute a wrong output of strings or lists from right inputs."""
    topology, values = matcher.candidate.topology, matcher.candidate.values
    named: set[str] = set()
    for output in non_numeric_outputs(matcher, wrong):
        node = topology.maker.get(output) or topology.maker.get(output.partition("[")[0])
        sources = [name for name in topology.sources(node) if name] if node is not None else []
        if node is None or node.name in named or not all(name in values for name in sources):
            continue
        if all(matcher.pair(name, values[name]) is not None for name in sources):
            named.add(node.name)
            yield _finding(
                node,
                message("FIRST_APART.words", place=named_node(node.op, node.name), output=output),
            )


def non_numeric_outputs(matcher: ValueMatcher, wrong: Sequence[str]) -> list[str]:
    """Return the outputs that hold no tensor of numbers, which cannot be captured."""
    return [name for name in wrong if name not in matcher.candidate.values]


def first_nodes_off_oracle(
    candidate: EvaluatedModel, captured: Session, outputs: Sequence[str]
) -> Iterator[Finding]:
    """Report the first nodes at which a recorded run differs from its own oracle."""
    graph = candidate.model.graph
    rounding = Noise(seed=candidate.seed, rounding=True, run_time=True)
    oracle = TensorCapture(graph, candidate.oracle(), candidate.feeds, rounding)
    run = TensorCapture(graph, captured, candidate.feeds, None)
    search = Search(match_captures(oracle, run), [(name, name) for name in outputs], {})
    for node in _begin(search):
        name = node.outputs[0]
        error, _ = rms_and_peak(run.values[name], oracle.values[name])
        size = oracle.prints[name].rms
        off = error / size if size > 0 else error
        yield _of_trace(node, message("FIRST_APART.off", error=percentage(off)))


def _begin(search: Search) -> list[Node]:
    first = search.entries([cand for _, cand in search.wrong_outputs()])
    return list(FIRST_NODES.first(first))


def _of_trace(node: Node, why: str) -> Finding:
    return _finding(
        node,
        message("FIRST_APART.trace", place=named_node(node.op, node.name), why=why),
        fix=message("FIX.give_model"),
    )


def _finding(node: Node, summary: str, fix: str | None = None) -> Finding:
    return Finding(
        code="FIRST_APART",
        status=FindingStatus.SUSPECTED,
        effect=FindingEffect.REACHES_OUTPUT,
        summary=summary,
        node=node.name,
        nodes=(node.name,),
        tensors=tuple(name for name in node.outputs if name),
        source=node.source,
        fix=fix,
    )
