"""Repair targets for weights that differ from the reference's where no output shows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.coverage import InputKind
from isomorph.core.errors import UsageError
from isomorph.core.report import Fact, FindingEffect
from isomorph.inputs.feeds import Sample
from isomorph.localize.weight_findings import CODE
from isomorph.match.stored_weights import Weights
from isomorph.match.topology import Topology
from isomorph.match.weight_differences import compared_weights
from isomorph.measure.calibration_range import beyond_calibration
from isomorph.repair.targets import RepairTarget, whole_model_target
from isomorph.store.reported_inputs import decoded_inputs

if TYPE_CHECKING:
    from isomorph.core.model import Graph
    from isomorph.core.report import Finding, Report
    from isomorph.core.trace import Array
    from isomorph.sessions.model_handle import ModelHandle


def constant_targets(
    reference: ModelHandle, candidate: ModelHandle, findings: Sequence[Finding]
) -> Iterator[RepairTarget]:
    """One target for each weight that a finding names, with its right values."""
    by_weight = {each.fact(Fact.CONSTANT): each for each in findings if each.code == CODE}
    if not by_weight:
        return
    sides = [Weights.of(each) for each in (reference, candidate)]
    graph = candidate.model.graph
    for difference in compared_weights(*sides).differences:
        name = difference.weight.name
        value = sides[1].value(name)
        if name not in by_weight or name not in graph.constants or value is None:
            continue
        readers = tuple(each for each in graph.nodes if name in Topology.reads(each))
        right = difference.corrected(value if value.dtype.kind in "iu" else None)
        graphs = reference.model.graph, graph
        node = difference.weight.readers[0].node
        # A wrong scale is made up for by the stored numbers, which every format can change.
        finding = replace(by_weight[name], cause="weight")
        target = whole_model_target(finding, graphs, (node, readers), name, (value, right))
        context = replace(
            target.context,
            constant=partial(_stored, sides[1], graph),
            value=partial(_real, graph, name, difference.expected),
        )
        yield replace(target, context=context)


def _stored(weights: Weights, own: Graph, graph: Graph, name: str) -> Array | None:
    """A constant of the candidate; those of the reference are not asked for here."""
    return weights.value(name) if graph is own else None


def _real(own: Graph, tensor: str, right: Array, graph: Graph, name: str) -> Array | None:
    """The right real values of the one weight."""
    return right if graph is own and name == tensor else None


def is_unseen(finding: Finding) -> bool:
    """Whether the given inputs do not show a difference, so that no search on them locates it."""
    return finding.effect is FindingEffect.LATENT or finding.fact(Fact.REACHED_BY) is not None


def revealing_samples(
    reports: Sequence[Report], candidate: Graph, *, of_weights: bool = True
) -> Iterator[Sample]:
    """The inputs that a search found to show a difference: a repair is proven on them.

    ``of_weights``: those that show a weight that differs, and no others. What a quantized candidate
    cuts off differs however right its weights are: such inputs are left out, and the weights are
    compared in any case.
    """
    for report in reports:
        for finding in report.findings:
            shown = finding.fact(Fact.INPUTS) is not None
            if shown and (finding.code == CODE or not of_weights):
                try:
                    feeds = decoded_inputs(finding.fact(Fact.INPUTS))
                except (UsageError, ValueError, KeyError, TypeError):
                    continue
                origin = f"found: {(finding.fact(Fact.REACHED_BY) or 'by a search')}"
                arrays = {name: np.asarray(value) for name, value in feeds.items()}
                if beyond_calibration(candidate, _as_candidate(candidate, arrays)):
                    continue
                yield Sample(origin=origin, feeds=arrays, kind=InputKind.GENERATED)


def _as_candidate(candidate: Graph, arrays: dict[str, Array]) -> dict[str, Array]:
    """A single input by the candidate's name; several by their own."""
    if len(arrays) == len(candidate.inputs) == 1:
        return {candidate.inputs[0].name: next(iter(arrays.values()))}
    return arrays
