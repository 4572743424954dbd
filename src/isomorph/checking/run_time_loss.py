"""Name the nodes whose kernels quantize activations on one side alone, which no graph shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph import registry
from isomorph.checking.verdict import Outcome
from isomorph.core.divergence import Verdict
from isomorph.core.errors import IsomorphError
from isomorph.core.messages import message
from isomorph.core.messages.phrases import named_node
from isomorph.core.report import Fact, Finding, FindingEffect, FindingStatus
from isomorph.match.packed_readers import packed_readers
from isomorph.measure.budget_check import judge
from isomorph.measure.precision import QUANTIZED_OPS, lower_precision
from isomorph.measure.run_time_quantizers import (
    ACCURACY_LEVEL,
    CODE,
    PACKED_PRODUCT,
    added_run_time_quantizers,
    run_time_quantizers,
)
from isomorph.measure.spread import FALSE_ALARM

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from isomorph.core.divergence import Divergence
    from isomorph.core.model import Graph, Node
    from isomorph.core.trace import Array
    from isomorph.measure.evaluated_model import EvaluatedModel
    from isomorph.measure.spread import Spread

_LEVEL = "qdq_accuracy_level"
"""The setting of a runtime that keeps activations in float where it is 0."""


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


def optimized_run_loss(candidate: EvaluatedModel, outputs: Sequence[str]) -> Outcome:
    """Products for which the runtime quantizes activations: without that the run is exact.

    The stored weights make the candidate one of lower precision, so that its loss hides this.
    """
    graph = candidate.model.graph
    readers = [node for node in graph.nodes if node.name in packed_readers(graph)]
    apart = [node for node in readers if node.op == "DequantizeLinear"]
    if not apart or run_time_quantizers(graph) or len(apart) != _dequantizers(graph):
        return Outcome()
    spreads, oracle = candidate.rounding(), candidate.oracle_outputs()
    runs = candidate.runtime_outputs()
    if _within(runs, oracle, spreads, outputs) is not False:
        return Outcome()
    if not _within(_in_float(candidate, outputs), oracle, spreads, outputs):
        return Outcome()
    made = {node.outputs[0] for node in apart}
    products = [node for node in graph.nodes if not made.isdisjoint(node.inputs)]
    summary = message("ACTIVATIONS_QUANTIZED.fused", products=_counted(products))
    finding = _finding(
        summary, products, FindingEffect.REACHES_OUTPUT, node=products[0].name,
        fix=message("FIX.accuracy_level", level=_LEVEL),
    )  # fmt: skip
    return Outcome(findings=(finding,))


def _in_float(candidate: EvaluatedModel, outputs: Sequence[str]) -> Mapping[str, Array] | None:
    """The run without quantized activations; None where the runtime has no such setting."""
    handle = candidate.handle
    if handle is None or _LEVEL not in registry.runtime(handle.runtime).settings:
        return None
    asked = handle.environment_with({**handle.settings, _LEVEL: "0"})
    try:
        session = handle.host.open(handle.model, asked)
        found = session.run(candidate.feeds, list(outputs))
        return {name: np.asarray(value) for name, value in found.items()}
    except IsomorphError:
        return None


def _counted(nodes: Sequence[Node]) -> str:
    first = repr(nodes[0].name)
    return f"{len(nodes)} products, {first} first," if len(nodes) > 1 else first


def _dequantizers(graph: Graph) -> int:
    return sum(node.op in QUANTIZED_OPS for node in graph.nodes)


def _within(
    runs: Mapping[str, Array] | IsomorphError | None,
    oracle: Mapping[str, Array] | IsomorphError,
    spreads: Mapping[str, Spread] | IsomorphError,
    outputs: Sequence[str],
) -> bool | None:
    """Whether a run is within the rounding of its oracle; None where that is not known."""
    if runs is None or isinstance(runs, IsomorphError) or isinstance(oracle, IsomorphError):
        return None
    if isinstance(spreads, IsomorphError):
        return None
    parts = [
        judge(
            runs[name], oracle[name], spreads[name], dtype=str(runs[name].dtype), derivation="",
            false_alarm=FALSE_ALARM,
        )
        for name in outputs
        if name in runs and name in oracle and name in spreads
        and runs[name].shape == oracle[name].shape
    ]  # fmt: skip
    return all(part.within for part in parts) if parts else None


def _named(nodes: Sequence[Node], *, lossy: bool) -> list[Node]:
    return [node for node in nodes if node.op == PACKED_PRODUCT or not lossy]


def _of_candidate(nodes: Sequence[Node], effect: FindingEffect) -> Finding:
    summary = message("ACTIVATIONS_QUANTIZED.candidate", text=_sentence(nodes))
    return _finding(summary, nodes, effect, node=nodes[0].name, fix=_fix(nodes))


def _of_reference(nodes: Sequence[Node]) -> Finding:
    summary = message("ACTIVATIONS_QUANTIZED.reference", text=_sentence(nodes))
    return _finding(summary, nodes, FindingEffect.NONE, reference=True)


def _sentence(nodes: Sequence[Node]) -> str:
    kinds = ", ".join(sorted({node.op for node in nodes}))
    why = message("ACTIVATIONS_QUANTIZED.level", level=ACCURACY_LEVEL)
    if len(nodes) > 1:
        return message(
            "ACTIVATIONS_QUANTIZED.nodes",
            count=len(nodes),
            kinds=kinds,
            first=nodes[0].name,
            why=why if _by_attribute(nodes) else "",
        )
    return message(
        "ACTIVATIONS_QUANTIZED.node",
        place=named_node(nodes[0].op, nodes[0].name),
        why=why if _by_attribute(nodes) else "",
    )


def _by_attribute(nodes: Sequence[Node]) -> bool:
    return all(node.op == PACKED_PRODUCT for node in nodes)


def _fix(nodes: Sequence[Node]) -> str | None:
    if not _by_attribute(nodes):
        return None
    return message("FIX.accuracy_attribute", level=ACCURACY_LEVEL)


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
