"""A repair as one plain document: patches as edits and as words, and every measurement."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from isomorph.core.constraints import Count, Keys
from isomorph.core.divergence import Verdict
from isomorph.core.patch import EditBody
from isomorph.core.repair import SCHEMA, Measured, SessionOption, Trade
from isomorph.reporters.repair_text import edit_words
from isomorph.version import VERSION

if TYPE_CHECKING:
    from isomorph.core.patch import Edit
    from isomorph.core.repair import Applied, Repair

_MOST_VALUES = 256
"""Arrays up to this size are written out; of larger ones shape, type and digest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchDocument:
    """One patch that was kept."""

    summary: str
    round: Count
    """Patches of one round were applied together."""
    node: str | None
    cause: str | None
    because: str
    """The finding that it answers."""
    edits: tuple[Annotated[Mapping[str, Any], Keys("edit")], ...]
    """Each with its kind, and the fields of that kind; of a large array shape, type and digest."""
    words: tuple[str, ...]
    """The edits as sentences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairDocument:
    """What isomorph fix did, and the measurements that prove it."""

    verdict: Verdict
    reason: str
    repaired: bool
    """Whether the result is verified, or nothing had to be done."""
    verified: bool
    """Whether every measurement after the repair is good, on given and on fresh inputs."""
    exit_code: int
    patches: tuple[PatchDocument, ...]
    session: SessionOption | None
    trades: tuple[Trade, ...]
    advice: tuple[str, ...]
    before: tuple[Measured, ...]
    after: tuple[Measured, ...]
    refused: tuple[str, ...]
    notes: tuple[str, ...]
    """What differs from the check of the report that was repaired."""
    output: str | None
    seed: Count
    elapsed: float
    version: str = VERSION
    schema: str = SCHEMA


def document(repair: Repair) -> RepairDocument:
    """What ``isomorph fix --format json`` prints; ``repair.schema.json`` describes it."""
    return RepairDocument(
        verdict=repair.verdict,
        reason=repair.reason,
        repaired=repair.repaired,
        verified=repair.proof.holds,
        exit_code=repair.exit_code,
        patches=tuple(_patch(each) for each in repair.applied),
        session=repair.session,
        trades=repair.trades,
        advice=repair.advice,
        before=repair.proof.before,
        after=repair.proof.after,
        refused=repair.refused,
        notes=repair.notes,
        output=repair.output,
        seed=repair.seed,
        elapsed=repair.elapsed,
    )


def _patch(applied: Applied) -> PatchDocument:
    return PatchDocument(
        summary=applied.patch.summary,
        round=applied.round,
        node=applied.finding.node,
        cause=applied.finding.cause,
        because=applied.finding.summary,
        edits=tuple(_edit(edit) for edit in applied.patch.edits),
        words=tuple(edit_words(edit) for edit in applied.patch.edits),
    )


def _edit(edit: Edit) -> dict[str, Any]:
    entries = {field.name: _value(getattr(edit, field.name)) for field in fields(edit)}
    if isinstance(edit, EditBody):
        entries["edits"] = [_edit(inner) for inner in edit.edits]
    return {"edit": type(edit).__name__, **entries}


def _value(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, Mapping):
        return {str(key): _value(item) for key, item in value.items()}
    if not isinstance(value, np.ndarray):
        return value
    entries = {"shape": value.shape, "dtype": str(value.dtype)}
    if value.size <= _MOST_VALUES:
        return {**entries, "values": value}
    raw = np.ascontiguousarray(value).tobytes()
    return {**entries, "sha256": hashlib.sha256(raw).hexdigest()}
