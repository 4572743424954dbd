"""What is known of both sides of one pair of outputs, and how far apart they may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from isomorph.core.errors import IsomorphError
from isomorph.measure.comparand import Comparand, unmatched_constants
from isomorph.measure.output_layout import rearranged_spread
from isomorph.measure.parallel import allowances
from isomorph.measure.precision import requantized, widths
from isomorph.measure.spread import Spread, merged
from isomorph.measure.verdict import Evidence
from isomorph.oracle.noise import unit_roundoff

if TYPE_CHECKING:
    from isomorph.match.axis_layout import Rearrangement

_T = TypeVar("_T")


def evidence_of(evaluated: Comparand, name: str) -> Evidence:
    """Return what is known of one output of one model."""
    rounding = _at(evaluated.rounding(), name)
    return Evidence(
        name=name,
        run=_at(evaluated.runtime_outputs(), name),
        oracle=_at(evaluated.oracle_outputs(), name),
        rounding=rounding,
        execution=_with_loss(evaluated, name, rounding),
        recorded=evaluated.recorded,
        unoptimized_outputs=lambda: _at(evaluated.unoptimized_outputs(), name),
    )


def narrower_run_dtype(reference: Comparand, candidate: Comparand) -> str:
    """Return the type that the candidate's run was set to, if it is narrower than the other's."""
    narrower = unit_roundoff(candidate.run_dtype) > unit_roundoff(reference.run_dtype)
    return candidate.run_dtype if narrower else ""


def execution_spread(evaluated: Comparand, name: str) -> Spread | None:
    """Return how far a correct run may be from the oracle."""
    return _with_loss(evaluated, name, _at(evaluated.rounding(), name))


def _with_loss(evaluated: Comparand, name: str, rounding: Spread | None) -> Spread | None:
    if rounding is None or not (widths(evaluated.model.graph) or evaluated.run_dtype):
        return rounding
    return merged(rounding, _at(evaluated.execution_loss(), name))


def agreed(
    reference: Comparand, candidate: Comparand, ref: Evidence, cand: Evidence
) -> tuple[Evidence, Evidence]:
    """Take decisions that rounding leaves open the same way on both sides, if possible."""

    def toward(side: Comparand, own: Evidence, other: Evidence) -> Evidence:
        if own.oracle is None or other.compared is None:
            return own
        return replace(
            own, agreed=_at(side.oracle_outputs_toward({own.name: other.compared}), own.name)
        )

    cand = toward(candidate, cand, ref)
    return toward(reference, ref, cand), cand


def allowance_between(
    reference: Comparand, candidate: Comparand, left: str, right: str, moved: Rearrangement | None
) -> Spread | None:
    """Return how far re-rounded constants of both sides move a pair of outputs."""
    here, there = reference.model.graph, candidate.model.graph
    constants = unmatched_constants(here, there), unmatched_constants(there, here)
    allowances(reference, candidate, *constants)
    ref = _at(reference.allowance(constants[0]), left)
    cand = _at(candidate.allowance(constants[1]), right)
    return merged(ref, moved_spread(cand, moved))


def intended_between(
    reference: Comparand, candidate: Comparand, left: str, right: str, moved: Rearrangement | None
) -> Spread | None:
    """Return the intended loss: the candidate's, and the reference's where both are quantized."""
    lost = moved_spread(_at(candidate.intended_loss(), right), moved)
    if not requantized(reference.model.graph, candidate.model.graph):
        return lost
    # Both may have been made from the same numbers, each with its own rounding.
    return merged(_at(reference.intended_loss(), left), lost)


def moved_spread(spread: Spread | None, moved: Rearrangement | None) -> Spread | None:
    """Return a spread of the candidate's output in the reference's order of axes."""
    return spread if spread is None or moved is None else rearranged_spread(moved, spread)


def _at(values: Mapping[str, _T] | IsomorphError, name: str) -> _T | None:
    return None if isinstance(values, IsomorphError) else values.get(name)


def dtype_of(reference: Evidence, candidate: Evidence) -> str:
    """Return the type of the candidate's run, or else of the reference's."""
    for shown in (candidate.run, reference.run):
        if shown is not None:
            return "string" if shown.dtype.kind in "OUS" else str(shown.dtype)
    return "float32"
