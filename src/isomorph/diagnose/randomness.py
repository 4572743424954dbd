"""A model that does not repeat itself: what it is, told with the experiments that show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from isomorph import registry
from isomorph.diagnose.diagnose import answered
from isomorph.diagnose.rerun import Trials
from isomorph.diagnose.runtime_faults import whole_run
from isomorph.measure.determinism import of_randomness
from isomorph.measure.spread import FALSE_ALARM

if TYPE_CHECKING:
    from isomorph.core.report import Finding
    from isomorph.measure.evaluated_model import EvaluatedModel


def random_run(subject: EvaluatedModel, outputs: Sequence[str]) -> Finding:
    """The finding about a random model, with its experiments where sessions can be opened."""
    graph = subject.model.graph
    finding = of_randomness(subject.role, graph, outputs)
    if subject.opened is None or not graph.nodes:
        return finding
    trials = Trials(subject, outputs, FALSE_ALARM)
    case = replace(whole_run(subject, outputs), execution=trials.execution((), outputs[0], None))
    found = [each for each in registry.cause("nondeterminism").examine(case) if each.certainty]
    if not found:
        return finding
    told = answered(finding, found, (), case, (subject.model.framework,))
    return replace(told, fix=told.fix or finding.fix)
