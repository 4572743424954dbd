"""From two subjects that differ to the findings: the guilty nodes, each with its cause."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from isomorph.stages.diagnose.cases import cases
from isomorph.stages.diagnose.diagnose import explained
from isomorph.stages.diagnose.inside import inside
from isomorph.stages.localise.findings import findings as guilty_findings
from isomorph.stages.localise.locate import locate

if TYPE_CHECKING:
    from isomorph.core.report import Finding
    from isomorph.stages.localise.locate import Located
    from isomorph.stages.measure.subject import Subject


def guilty(
    reference: Subject, candidate: Subject, outputs: Sequence[tuple[str, str]]
) -> tuple[list[Finding], Located]:
    """The guilty nodes with their causes, and how they were found."""
    located = locate(reference, candidate, outputs)
    if located.strangers is not None:
        return [located.strangers], located
    trail, twins = located.trail, located.twins
    by_node = dict(cases(trail.guilts, twins, candidate.opened))
    known = reference.model.framework, candidate.model.framework
    found = [
        explained(finding, by_node[finding.node], known) if finding.node in by_node else finding
        for finding in guilty_findings(trail, reference.model.graph, candidate.model.graph)
    ]
    sides = reference.opened, candidate.opened
    return [inner for finding in found for inner in inside(finding, located, sides)], located
