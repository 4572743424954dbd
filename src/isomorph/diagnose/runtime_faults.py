"""Why a run is off although the graph is right: an optimizer, a kernel, or its precision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.escaping import counted
from isomorph.core.fault_context import FaultContext
from isomorph.core.messages import message
from isomorph.core.report import Fact, Finding, FindingEffect, FindingStatus
from isomorph.diagnose.build_context import fault_contexts
from isomorph.diagnose.diagnose import DiagnosedFinding, diagnosed, with_cause
from isomorph.diagnose.fused_int8 import saturated_products
from isomorph.diagnose.rerun import Reruns
from isomorph.localize.capture_effect import changed_by_capturing
from isomorph.localize.findings import findings, remarked
from isomorph.localize.locate import locate_execution

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node
    from isomorph.localize.locate import Located
    from isomorph.measure.evaluated_model import EvaluatedModel

_OF_THE_RUNTIME = frozenset({"fusion", "kernel", "precision"})
"""Causes in the runtime, which its log may mention."""
_NAMED = 3
"""Further nodes that a sentence names; the evidence has them all."""


def runtime_faults(
    candidate: EvaluatedModel, names: Sequence[str], false_alarm: float
) -> tuple[list[Finding], str | None]:
    """The nodes at which the run leaves its oracle, with the cause that an experiment shows.

    ``names`` are the outputs that are off.
    """
    trials = Reruns(candidate, names, false_alarm)
    if candidate.runtime().capabilities.fetch != "all":
        reason = message("SKIPPED.outputs_only.why")
        return saturated_products(candidate, names, trials.lands) or [
            _whole(candidate, trials, names)
        ], reason
    located = locate_execution(candidate, names)
    found, restored = _places(candidate, trials, located)
    seen = located.matcher.candidate.values
    changed = changed_by_capturing(candidate, seen, names, false_alarm)
    extra = [changed] if changed is not None else []
    if found:
        return [*found, *extra], None if restored else located.unexplained
    # Captured, the run is right: taking tensors out keeps the optimizers from joining nodes.
    joint = saturated_products(candidate, names, trials.lands)
    return [*(joint or [_whole(candidate, trials, names)]), *extra], None


def _places(
    candidate: EvaluatedModel, trials: Reruns, located: Located
) -> tuple[list[Finding], bool]:
    """The finding of each located node, and whether one change of the settings restores the run."""
    graph = candidate.model.graph
    by_node = dict(fault_contexts(located.chain.faults, located.matcher))
    found = []
    for each in findings(located.chain, graph, graph):
        finding = DiagnosedFinding(finding=replace(each, faults=()))
        context = by_node.get(each.node or "")
        if context is not None:
            execution = trials.execution(context.nodes, context.tensor, located.matcher)
            finding = diagnosed(
                finding.finding, replace(context, execution=execution), _frameworks(candidate)
            )
            logged = _with_log(finding.finding, trials, _names(context))
            finding = replace(finding, finding=logged)
        found.append(finding)
    return merged_findings(found), any(each.restores_run for each in found)


def merged_findings(found: Sequence[DiagnosedFinding]) -> list[Finding]:
    """One finding for all nodes that one change of the settings restores."""
    groups: dict[object, list[Finding]] = {}
    for place, each in enumerate(found):
        if each.restores_run:
            key = each.finding.cause, each.finding.fix
            groups.setdefault(key, []).append(each.finding)
        else:
            groups[place] = [each.finding]
    return [group[0] if isinstance(key, int) else _for_all(group) for key, group in groups.items()]


def _for_all(group: Sequence[Finding]) -> Finding:
    """The first finding, confirmed, with the nodes of all."""
    first = group[0]
    proven = replace(first, status=FindingStatus.CONFIRMED)
    others = [each.node for each in group[1:] if each.node is not None]
    if not others:
        return proven
    named = ", ".join(map(repr, others[:_NAMED])) + (", …" if len(others) > _NAMED else "")
    remark = message("GUILTY_NODE.others", count=counted(len(others), "more node"), named=named)
    return replace(
        remarked(proven, remark),
        nodes=tuple(dict.fromkeys(name for each in group for name in each.nodes)),
        tensors=tuple(dict.fromkeys(name for each in group for name in each.tensors)),
        evidence={**first.evidence, "alike": others},
        share=None,
    )


def _with_log(finding: Finding, trials: Reruns, names: Sequence[str]) -> Finding:
    """The finding with the lines of the runtime's log about the nodes and the optimizer."""
    if finding.cause not in _OF_THE_RUNTIME:
        return finding
    optimizer = finding.fact(Fact.OPTIMIZER)
    lines = trials.log([*([str(optimizer)] if optimizer else []), *names])
    return replace(finding, evidence={**finding.evidence, "log": lines}) if lines else finding


def _names(context: FaultContext) -> list[str]:
    """The names of the faulty nodes, their outputs, and the constants that they read."""
    stored = context.candidate.constants
    nodes = [node.name for node in context.nodes]
    made = [name for node in context.nodes for name in node.outputs]
    return list(
        dict.fromkeys([*nodes, *made, *(n for v in context.nodes for n in v.inputs if n in stored)])
    )


def _whole(candidate: EvaluatedModel, trials: Reruns, names: Sequence[str]) -> Finding:
    """The finding about the whole run, where no single node is wrong by itself."""
    finding = Finding(
        code="RUN_AS_A_WHOLE",
        status=FindingStatus.SUSPECTED,
        effect=FindingEffect.REACHES_OUTPUT,
        summary=message("RUN_AS_A_WHOLE.run"),
        tensors=tuple(names),
    )
    context = whole_run_context(candidate, names)
    execution = trials.execution((), names[0], None)
    explained_finding = with_cause(
        finding, replace(context, execution=execution), _frameworks(candidate)
    )
    explained_finding = _with_log(explained_finding, trials, ())
    confirmed = any(each.agrees for each in explained_finding.experiments)
    return replace(
        explained_finding, status=FindingStatus.CONFIRMED if confirmed else FindingStatus.SUSPECTED
    )


def whole_run_context(candidate: EvaluatedModel, names: Sequence[str]) -> FaultContext:
    """A context without a located node: the first wrong output and the oracle's value of it."""
    graph = candidate.model.graph
    run, oracle_outputs = candidate.runtime_outputs(), candidate.oracle_outputs()
    name = names[0]
    nothing = np.empty(0)
    wrong = run.get(name, nothing) if isinstance(run, dict) else nothing
    right = oracle_outputs.get(name, nothing) if isinstance(oracle_outputs, dict) else nothing
    node = _maker(graph, name)
    return FaultContext(
        reference=graph,
        candidate=graph,
        node=node,
        nodes=(node,),
        counterparts=(node,),
        tensor=name,
        wrong=wrong,
        right=right,
        permuted=False,
        constant=lambda _graph, _name: None,
        restores=lambda _given: False,
        equals=lambda array: bool(np.array_equal(array, right)),
    )


def _maker(graph: Graph, name: str) -> Node:
    """The node that makes an output; the last one for an output that is an input or a part."""
    return next((n for n in graph.nodes if name in n.outputs), graph.nodes[-1])


def _frameworks(candidate: EvaluatedModel) -> tuple[str, str]:
    return candidate.model.framework, candidate.runtime().environment.runtime
