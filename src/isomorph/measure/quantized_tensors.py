"""The quantization table: every quantized tensor of the candidate, and its losses."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from isomorph.core.limits import QUANTIZED_TENSORS
from isomorph.core.model import Quantization
from isomorph.core.not_done import not_done
from isomorph.core.quantized_tensor import QuantizedTensor
from isomorph.core.report import ReportSection, Skipped
from isomorph.match.quantizers import (
    changed_parameters,
    match_quantized_tensors,
    quantization_by_tensor,
)
from isomorph.measure.quantization_grid import Figures, Grid
from isomorph.measure.quantizer_ablation import with_gains
from isomorph.measure.quantizer_stats import RUN_TIME, Audit
from isomorph.sessions.constants import read_constant

if TYPE_CHECKING:
    from isomorph.core.divergence import Divergence
    from isomorph.core.model import Graph
    from isomorph.measure.evaluated_model import EvaluatedModel


def table(
    candidate: EvaluatedModel,
    reference: EvaluatedModel | None,
    *,
    everything: bool = False,
    outputs: Sequence[Divergence] = (),
) -> tuple[tuple[QuantizedTensor, ...], tuple[Skipped, ...]]:
    """Return the rows, worst first, and what could not be measured.

    With ``everything``, the worst tensors are tried in float, to measure the gain at ``outputs``.
    """
    graph = candidate.model.graph
    dynamic = [node for node in graph.nodes if node.op == RUN_TIME]
    known = [entry for entry in graph.quantization if entry.scale]
    writers = quantization_by_tensor(graph)
    count = len(known) + len(dynamic)
    if not count:
        return (), ()
    pairs = _pairs(candidate, reference) if reference is not None else {}
    if count > QUANTIZED_TENSORS and not everything:
        rows = tuple(_row(entry, graph, None, pairs, writers) for entry in known)
        return _ordered(rows), (
            not_done("quantization", section=ReportSection.QUANTIZATION, count=count),
        )
    audit = Audit(candidate, reference)
    rows = tuple(
        _row(entry, graph, figures, pairs, writers, local=audit.local_quanta(entry))
        for entry, figures in audit.figures()
    )
    ordered = _ordered(rows)
    if everything:
        ordered = with_gains(ordered, audit, outputs)
    return ordered, tuple(audit.skipped)


def _ordered(rows: Sequence[QuantizedTensor]) -> tuple[QuantizedTensor, ...]:
    def badness(row: QuantizedTensor) -> tuple[bool, bool, float, float, float, float]:
        beyond = max((row.local_quanta or 0.0) - 1.0, 0.0)
        clipped = row.clipped or 0.0
        noise = -math.inf if row.sqnr_db is None else -row.sqnr_db
        return bool(row.misread), bool(row.changed), beyond, row.lost_db, clipped, noise

    return tuple(sorted(rows, key=badness, reverse=True))


def _row(
    entry: Quantization,
    graph: Graph,
    figures: Figures | None,
    pairs: Mapping[str, Quantization],
    writers: Mapping[str, Quantization],
    *,
    local: float | None = None,
) -> QuantizedTensor:
    maker = next((node for node in graph.nodes if entry.tensor in node.outputs), None)
    stored = entry.tensor in graph.constants
    counterpart, writer = pairs.get(entry.tensor), writers.get(entry.tensor, entry)
    measured: dict[str, Any] = asdict(figures) if figures is not None else {}
    measured.setdefault("representable", Grid(entry).representable)
    run_time = maker is not None and maker.op == RUN_TIME
    return QuantizedTensor(
        tensor=entry.tensor,
        dtype=entry.dtype,
        kind="weight" if stored else "dynamic" if run_time else "activation",
        channels=len(entry.scale),
        scale=(min(entry.scale), max(entry.scale)),
        zero_point=(min(entry.zero_point, default=0), max(entry.zero_point, default=0)),
        axis=entry.axis,
        node=maker.name if maker is not None and not stored else None,
        local_quanta=local,
        counterpart=counterpart.tensor if counterpart is not None else None,
        changed=changed_parameters(counterpart, entry) if counterpart is not None else (),
        misread=() if stored else changed_parameters(writer, entry),
        **measured,
    )


def _pairs(candidate: EvaluatedModel, reference: EvaluatedModel) -> dict[str, Quantization]:
    """Return the reference's quantization of each quantized tensor that has a counterpart."""
    ref, cand = reference.model.graph, candidate.model.graph
    if not ref.quantization:
        return {}
    found = match_quantized_tensors(
        ref,
        cand,
        reference_value=lambda name: read_constant(reference.oracle, name),
        candidate_value=lambda name: read_constant(candidate.oracle, name),
    )
    writers = quantization_by_tensor(ref)
    return {name: writers[counterpart] for name, counterpart in found.items()}
