"""Pairs of outputs that are judged without their values: one is absent, or has another shape."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.core.divergence import Divergence, DivergenceKind, Verdict
from isomorph.core.messages import message

if TYPE_CHECKING:
    from isomorph.measure.verdict import Evidence


def shape_of(evidence: Evidence) -> tuple[int, ...] | None:
    """Return the shape of an output; None where neither run nor oracle has it."""
    shown = evidence.run if evidence.run is not None else evidence.oracle
    return None if shown is None else tuple(shown.shape)


def absent(left: str, right: str, ref: Evidence, cand: Evidence, *, failed: bool) -> Divergence:
    """Judge a pair of which one side or both have no value; ``failed``: a run failed."""
    # An output that could not be computed is not missing from the model.
    computed = not failed and (ref.run is not None or cand.run is not None)
    divergent = computed and (shape_of(ref) is None) != (shape_of(cand) is None)
    neither = not failed and shape_of(ref) is None and shape_of(cand) is None
    if neither:
        verdict, reason = Verdict.EQUIVALENT, message("EQUIVALENT.absent")
    elif divergent:
        verdict, reason = Verdict.DIVERGENT, message("DIVERGENT.one_side")
    else:
        verdict, reason = Verdict.UNKNOWN, message("UNKNOWN.not_computed")
    return Divergence(
        reference_output=left,
        candidate_output=right,
        dtype="unknown",
        shape=(),
        verdict=verdict,
        kind=DivergenceKind.MISSING,
        reason=reason,
    )


def misshapen(left: str, right: str, ref: tuple[int, ...], cand: tuple[int, ...]) -> Divergence:
    """Judge a pair of two shapes."""

    def text(shape: tuple[int, ...]) -> str:
        return "×".join(map(str, shape)) or "scalar"

    return Divergence(
        reference_output=left,
        candidate_output=right,
        dtype="",
        shape=cand,
        verdict=Verdict.DIVERGENT,
        kind=DivergenceKind.SHAPE,
        reason=message("DIVERGENT.other_shape", reference=text(ref), candidate=text(cand)),
    )
