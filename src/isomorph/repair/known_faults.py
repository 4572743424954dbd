"""Faults that a report has located: their values are computed again, and nothing is searched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isomorph.inputs.feeds import summaries
from isomorph.localize.fault import Fault, FaultChain, placed_value
from isomorph.localize.locate import Located
from isomorph.match.axis_layout import Rearrangement
from isomorph.repair.proof import GOOD

if TYPE_CHECKING:
    from isomorph.checking.config import CheckConfig
    from isomorph.core.model import Model
    from isomorph.core.report import FaultRecord, Finding, InputSummary, Report
    from isomorph.inputs.feeds import Sample
    from isomorph.match.value_match import ValueMatcher
    from isomorph.sessions.model_handle import ModelHandle


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFaults:
    """Every fault of a report, in the order in which they are corrected, with its finding."""

    report: Report
    records: tuple[tuple[FaultRecord, Finding], ...]

    def located(self, matcher: ValueMatcher) -> Located:
        """What a search on the same sample would find."""
        faults = tuple(_fault(record, finding, matcher) for record, finding in self.records)
        return Located(chain=FaultChain(faults=faults, explained=True), matcher=matcher)

    def finding(self, tensor: str) -> Finding:
        """The diagnosed finding of the fault at this tensor."""
        return next(finding for record, finding in self.records if record.tensor == tensor)

    def measures(self, options: CheckConfig) -> bool:
        """Whether the report is a check of the given inputs alone, under derived budgets."""
        report = self.report
        wrong = [each for each in report.outputs if each.verdict not in GOOD]
        coverage = report.coverage
        return (
            not options.budgets
            and report.verdict not in GOOD
            and bool(wrong)
            and all(each.rounding is not None for each in wrong)
            and report.test_set is None
            and coverage is not None
            and coverage.generated == 0
        )


def known_faults(
    report: Report, reference: ModelHandle, candidate: ModelHandle, given: Sample | None
) -> KnownFaults | None:
    """The faults of a report; None unless it located all, in these models and on these inputs."""
    digests = {each.role: each.digest for each in report.models}
    handles = {each.role: each.model.digest for each in (reference, candidate)}
    if digests != handles or given is None:
        return None
    fed = summaries({n: np.asarray(v) for n, v in given.feeds.items()}, given.origin)
    if {_identity(each) for each in fed} != {_identity(each) for each in report.inputs}:
        return None
    found = [(record, finding) for finding in report.findings for record in finding.faults]
    found.sort(key=lambda pair: pair[0].place)
    count = found[0][0].count if found else 0
    if not found or [record.place for record, _ in found] != list(range(count)):
        return None
    if not all(_is_known(record, reference.model, candidate.model) for record, _ in found):
        return None
    return KnownFaults(report=report, records=tuple(found))


def _identity(given: InputSummary) -> tuple[object, ...]:
    return given.name, given.dtype, given.shape, given.digest


def _is_known(record: FaultRecord, reference: Model, candidate: Model) -> bool:
    """Whether the graphs have the nodes and tensors of a record under these names."""
    sides = (
        (reference.graph, record.reference_nodes, record.counterpart),
        (candidate.graph, (record.node, *record.nodes), record.tensor),
    )
    for graph, nodes, tensor in sides:
        if not {node.name for node in graph.nodes}.issuperset(nodes):
            return False
        if tensor not in graph.constants and all(tensor not in n.outputs for n in graph.nodes):
            return False
    return True


def _fault(record: FaultRecord, finding: Finding, matcher: ValueMatcher) -> Fault:
    moved = Rearrangement(permutation=record.permutation, shape=record.shape)
    now = matcher.candidate.values[record.tensor]
    return Fault(
        node=record.node,
        nodes=record.nodes,
        tensor=record.tensor,
        counterpart=record.counterpart,
        reference_nodes=record.reference_nodes,
        moved=moved,
        value=placed_value(moved, matcher.reference.values[record.counterpart], now),
        local_error=finding.local_error or 0.0,
        shape=now.shape,
        permuted=record.permuted,
        proven=True,
        share=finding.share,
    )
