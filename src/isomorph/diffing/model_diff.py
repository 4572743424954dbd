"""Compare two models: interface, operator sets, quantized tensors, and node by node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from isomorph.core.errors import IsomorphError
from isomorph.core.limits import noted_limits
from isomorph.core.model_diff import (
    ChangeKind,
    DiffRow,
    ModelDiff,
    NodeChange,
    Relation,
    counted_rows,
)
from isomorph.core.not_done import beyond
from isomorph.diffing.graph_diff import DiffConfig, diff_graphs
from isomorph.match.signature_diff import diff_signatures
from isomorph.match.stored_weights import Weights
from isomorph.match.weight_differences import compared_weights
from isomorph.sessions.constants import read_constant
from isomorph.version import VERSION

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.match.constant_difference import ConstantDifference
    from isomorph.match.signature_diff import SignatureDiff
    from isomorph.sessions.model_handle import ModelHandle


def diff_models(reference: ModelHandle, candidate: ModelHandle) -> ModelDiff:
    """Return what differs between two models.

    Neither is run. Constants are read where their digests differ.
    """
    handles = reference, candidate
    signatures = diff_signatures(reference, candidate)
    with noted_limits() as limits:
        found = _rows(handles, signatures)
        rows = tuple(_with_weights(found, handles))
    specs = (*signatures.inputs, *signatures.outputs)
    return ModelDiff(
        reference=reference.summary,
        candidate=candidate.summary,
        same=all(row.relation is Relation.MATCHED for row in rows)
        and not any(pair.differs for pair in specs)
        and not any(pair.differs for pair in signatures.quantization),
        counts=counted_rows(rows),
        inputs=signatures.inputs,
        outputs=signatures.outputs,
        opsets=signatures.opsets,
        quantization=signatures.quantization,
        rows=rows,
        skipped=tuple(map(beyond, limits)),
        version=VERSION,
    )


def _rows(handles: tuple[ModelHandle, ModelHandle], signatures: SignatureDiff) -> list[DiffRow]:
    ref, cand = (handle.model for handle in handles)

    def read(side: int, name: str) -> Array | None:
        return read_constant(handles[side].oracle, name)

    inputs, outputs = (
        [
            (pair.reference.name, pair.candidate.name)
            for pair in pairs
            if pair.reference is not None and pair.candidate is not None
        ]
        for pairs in (signatures.inputs, signatures.outputs)
    )
    return diff_graphs(
        ref.graph,
        cand.graph,
        inputs={other: one for one, other in inputs},
        outputs=outputs,
        config=DiffConfig(
            one_framework=ref.framework == cand.framework,
            one_layout=ref.channels_last == cand.channels_last,
            read=read,
        ),
    )


def _with_weights(
    rows: Sequence[DiffRow], handles: tuple[ModelHandle, ModelHandle]
) -> Iterator[DiffRow]:
    """The rows; groups with the weights that the reference's, folded together, do not explain."""
    grouped = [row for row in rows if row.relation is Relation.REGROUPED]
    if any(node.constants for row in grouped for node in row.candidate):
        wrong = _wrong_weights(handles)
    else:
        wrong = {}
    for row in rows:
        changes = [
            _weight_change(wrong[name])
            for node in row.candidate
            for name in node.constants
            if row.relation is Relation.REGROUPED and name in wrong
        ]
        yield replace(row, changes=(*row.changes, *changes)) if changes else row


def _wrong_weights(handles: tuple[ModelHandle, ModelHandle]) -> dict[str, ConstantDifference]:
    try:
        found = compared_weights(*map(Weights.of, handles)).differences
    except IsomorphError:
        return {}  # values that cannot be read cannot be compared
    return {each.weight.name: each for each in found}


def _weight_change(found: ConstantDifference) -> NodeChange:
    place, expected, actual = found.shown[0] if found.shown else ((), None, None)
    count = int(found.beyond.sum())
    return NodeChange(
        kind=ChangeKind.CONSTANT,
        name=found.weight.name,
        reference="" if expected is None else f"{expected:.6g}",
        candidate="" if actual is None else f"{actual:.6g}",
        detail=f"{count:,} of {found.beyond.size:,} elements are not those of "
        f"{', '.join(found.reference) or 'the reference'}, the first at {list(place)}",
    )
