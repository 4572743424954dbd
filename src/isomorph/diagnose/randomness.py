"""The finding about a model whose runs differ, with the experiments that show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from isomorph import registry
from isomorph.diagnose.diagnose import with_diagnosis
from isomorph.diagnose.rerun import Reruns
from isomorph.diagnose.runtime_faults import whole_run_context
from isomorph.measure.determinism import nondeterminism_finding
from isomorph.measure.spread import FALSE_ALARM

if TYPE_CHECKING:
    from isomorph.core.report import Finding
    from isomorph.measure.evaluated_model import EvaluatedModel


def randomness_finding(evaluated: EvaluatedModel, outputs: Sequence[str]) -> Finding:
    """The finding about a random model, with its experiments where sessions can be opened."""
    graph = evaluated.model.graph
    finding = nondeterminism_finding(evaluated.role, graph, outputs)
    if evaluated.handle is None or not graph.nodes:
        return finding
    trials = Reruns(evaluated, outputs, FALSE_ALARM)
    context = replace(
        whole_run_context(evaluated, outputs), execution=trials.execution((), outputs[0], None)
    )
    found = [each for each in registry.cause("nondeterminism").examine(context) if each.certainty]
    if not found:
        return finding
    explained_finding = with_diagnosis(finding, found, (), context, (evaluated.model.framework,))
    return replace(explained_finding, fix=explained_finding.fix or finding.fix)
