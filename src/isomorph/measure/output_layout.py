"""Outputs with the same values in another arrangement of axes.

The shape of an output is part of the function. A channel axis that a converter moved between two
conventions is accepted where exactly one rearrangement fits, and fits by value; so is what the
user states. Nothing else is, and nothing is broadcast.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.match.axis_layout import (
    Rearrangement,
    arrangements,
    channel_moves,
    keeps_order,
    stated_arrangement,
)
from isomorph.measure.budget_check import judge
from isomorph.measure.spread import Spread, merged

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.measure.verdict import Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrangeable:
    """Which arrangements of the candidate's outputs are accepted.

    ``channels``: the models use different conventions, or an input's channel axis moved.
    ``anything``: any order of axes, with or without axes of size one (subgraphs have no
    interface). ``stated`` by the user: the axes of the reference that an output has, in its order.
    """

    channels: bool = False
    anything: bool = False
    stated: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def rearrangements(
        self, name: str, shape: tuple[int, ...], target: tuple[int, ...]
    ) -> tuple[Rearrangement, ...]:
        """Return the accepted rearrangements of an output of the candidate into ``target``."""
        if name in self.stated:
            found = stated_arrangement(self.stated[name], shape, target)
            return () if found is None else (found,)
        if shape == target or not (self.channels or self.anything):
            return ()
        return arrangements(shape, target) if self.anything else channel_moves(shape, target)


def rearranged_spread(moved: Rearrangement, spread: Spread) -> Spread:
    """Rearrange a spread with its tensor."""
    deviation = None if spread.deviation is None else moved.array(spread.deviation)
    unsettled = moved.array(spread.unsettled)
    reached = tuple(
        replace(
            side,
            steps=np.stack([moved.array(step) for step in side.steps]),
            few=moved.array(side.few),
            loose=moved.array(side.loose),
        )
        for side in spread.reached
    )
    return replace(spread, deviation=deviation, unsettled=unsettled, reached=reached)


def rearranged_evidence(moved: Rearrangement, evidence: Evidence) -> Evidence:
    """Rearrange all evidence of an output."""

    def array(given: Array | None) -> Array | None:
        return None if given is None else moved.array(given)

    def spread(given: Spread | None) -> Spread | None:
        return None if given is None else rearranged_spread(moved, given)

    return replace(
        evidence,
        run=array(evidence.run),
        oracle=array(evidence.oracle),
        rounding=spread(evidence.rounding),
        execution=spread(evidence.execution),
        unoptimized_outputs=lambda: array(evidence.unoptimized_outputs()),
    )


def rearrangement(
    reference: Evidence, candidate: Evidence, allowed: Arrangeable, false_alarm: float
) -> Rearrangement | None:
    """Return the accepted rearrangement under which the candidate's values agree."""
    ref = reference.oracle if reference.oracle is not None else reference.run
    cand = candidate.oracle if candidate.oracle is not None else candidate.run
    if ref is None or cand is None or ref.size != cand.size:
        return None
    tried = allowed.rearrangements(candidate.name, tuple(cand.shape), tuple(ref.shape))
    fits = [each for each in tried if _agrees(reference, candidate, each, false_alarm=false_alarm)]
    distinct = {each.array(np.arange(cand.size).reshape(cand.shape)).tobytes() for each in fits}
    if len(distinct) == 1:
        return fits[0]
    # No order fits by value, or many do. A squeeze alone, or one axis moved past the others as
    # between channels-first and channels-last, can still be measured.
    simple = [e for e in tried if not e.moves] or [e for e in tried if keeps_order(e)]
    return simple[0] if len(simple) == 1 else None


def _agrees(
    reference: Evidence, candidate: Evidence, moved: Rearrangement, *, false_alarm: float
) -> bool:
    through = rearranged_evidence(moved, candidate)
    ref = reference.oracle if reference.oracle is not None else reference.run
    cand = through.oracle if through.oracle is not None else through.run
    if ref is None or cand is None:
        return False
    spread = merged(reference.rounding, through.rounding)
    part = judge(cand, ref, spread, dtype="float32", derivation="", false_alarm=false_alarm)
    return part.budget.ratio is not None and part.budget.ratio <= 1.0
