"""Name the nodes whose kernels quantize activations on one side alone, which no graph shows."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from isomorph.checking.verdict import Outcome
from isomorph.core.divergence import Verdict
from isomorph.core.report import Fact, Finding, FindingEffect, FindingStatus
from isomorph.measure.precision import lower_precision
from isomorph.measure.run_time_quantizers import (
    ACCURACY_LEVEL,
    CODE,
    PACKED_PRODUCT,
    added_run_time_quantizers,
    run_time_quantizers,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from isomorph.core.divergence import Divergence
    from isomorph.core.model import Graph, Node


def run_time_loss(reference: Graph, candidate: Graph, divergences: Iterable[Divergence]) -> Outcome:
    """The nodes that quantize activations in one run and not in the other.

    Where the candidate stores narrower weights as well, its operators say that much; only a level
    that an attribute sets is named then.
    """
    reached = any(each.verdict is not Verdict.EQUIVALENT for each in divergences)
    effect = FindingEffect.REACHES_OUTPUT if reached else FindingEffect.NONE
    lossy = bool(lower_precision(reference, candidate))
    own = _named(added_run_time_quantizers(reference, candidate), lossy=lossy)
    if own:
        return Outcome(findings=(_of_candidate(own, effect),))
    lossy = bool(lower_precision(candidate, reference))
    others = _named(added_run_time_quantizers(candidate, reference), lossy=lossy)
    return Outcome(findings=(_of_reference(others),) if others else ())


def run_time_loss_alone(graph: Graph) -> Outcome:
    """The nodes of a single model whose activations are quantized because an attribute says so."""
    nodes = _named(run_time_quantizers(graph), lossy=True)
    if not nodes:
        return Outcome()
    return Outcome(findings=(_finding(_sentence(nodes), nodes, FindingEffect.NONE),))


def _named(nodes: Sequence[Node], *, lossy: bool) -> list[Node]:
    return [node for node in nodes if node.op == PACKED_PRODUCT or not lossy]


def _of_candidate(nodes: Sequence[Node], effect: FindingEffect) -> Finding:
    summary = f"{_sentence(nodes)}; the reference's run keeps them in float"
    return _finding(summary, nodes, effect, node=nodes[0].name, fix=_fix(nodes))


def _of_reference(nodes: Sequence[Node]) -> Finding:
    summary = (
        f"of the reference, {_sentence(nodes)}; the candidate's run keeps them in float, and where "
        "the runs differ, it is the closer one"
    )
    return _finding(summary, nodes, FindingEffect.NONE, reference=True)


def _sentence(nodes: Sequence[Node]) -> str:
    kinds = ", ".join(sorted(Counter(node.op for node in nodes)))
    many = len(nodes) > 1
    named = (
        f"{len(nodes)} nodes ({kinds}), {nodes[0].name!r} first,"
        if many
        else (f"node {nodes[0].name!r} ({kinds})")
    )
    verb = ("quantize their", "they run") if many else ("quantizes its", "it runs")
    why = f" because {ACCURACY_LEVEL} is 4" if _by_attribute(nodes) else ""
    return f"{named} {verb[0]} activations to 8 bits when {verb[1]}{why}, which no tensor shows"


def _by_attribute(nodes: Sequence[Node]) -> bool:
    return all(node.op == PACKED_PRODUCT for node in nodes)


def _fix(nodes: Sequence[Node]) -> str | None:
    if not _by_attribute(nodes):
        return None
    return (
        f"set {ACCURACY_LEVEL} to 0 where an activation has outliers; a converter that writes 4 "
        "by default has an option for it"
    )


def _finding(
    summary: str,
    nodes: Sequence[Node],
    effect: FindingEffect,
    *,
    node: str | None = None,
    reference: bool = False,
    fix: str | None = None,
) -> Finding:
    names = tuple(each.name for each in nodes)
    return Finding(
        code=CODE,
        cause="precision",
        status=FindingStatus.CONFIRMED,
        effect=effect,
        node=node,
        nodes=() if reference else names,
        reference_nodes=names if reference else (),
        source=nodes[0].source if node is not None else None,
        summary=summary,
        evidence={Fact.OPERATORS: sorted({each.op for each in nodes})},
        fix=fix,
    )
