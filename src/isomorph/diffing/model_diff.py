"""Compare two models: interface, operator sets, quantized tensors, and node by node."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from isomorph.core.errors import IsomorphError
from isomorph.core.limits import noted_limits
from isomorph.core.model_diff import DiffRow, ModelDiff, Relation, counted_rows
from isomorph.core.not_done import beyond
from isomorph.diffing.graph_diff import DiffConfig, diff_graphs
from isomorph.diffing.group_constants import StoredNumbers
from isomorph.match.signature_diff import diff_signatures
from isomorph.match.stored_weights import Weights
from isomorph.sessions.constants import read_constant
from isomorph.version import VERSION

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.match.signature_diff import SignatureDiff
    from isomorph.sessions.model_handle import ModelHandle


def diff_models(reference: ModelHandle, candidate: ModelHandle) -> ModelDiff:
    """Return what differs between two models.

    Neither is run. Constants are read where their digests differ.
    """
    handles = reference, candidate
    signatures = diff_signatures(reference, candidate)
    with noted_limits() as limits:
        rows = tuple(_rows(handles, signatures))
    specs = (*signatures.inputs, *signatures.outputs)
    return ModelDiff(
        reference=reference.summary,
        candidate=candidate.summary,
        same=all(row.relation is Relation.MATCHED and not row.leaves_open for row in rows)
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

    @cache
    def numbers() -> StoredNumbers | None:
        try:
            return StoredNumbers(*map(Weights.of, handles))
        except IsomorphError:
            return None  # values that cannot be read cannot be compared

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
            numbers=numbers,
        ),
    )
