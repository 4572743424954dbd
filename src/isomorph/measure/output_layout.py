"""The same values in another arrangement of axes.

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
    """Which arrangements of the candidate's outputs are the reference's output all the same.

    ``channels``: the two sides follow different conventions, or an input's channel axis moved.
    ``anything``: any order of axes, and axes of size one more or less (parts of a graph have no
    interface). ``stated`` by the user: which axes of the reference an output has, in its order.
    """

    channels: bool = False
    anything: bool = False
    stated: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def ways(
        self, name: str, shape: tuple[int, ...], wanted: tuple[int, ...]
    ) -> tuple[Rearrangement, ...]:
        """The ways in which an output of the candidate may be brought into the other shape."""
        if name in self.stated:
            way = stated_arrangement(self.stated[name], shape, wanted)
            return () if way is None else (way,)
        if shape == wanted or not (self.channels or self.anything):
            return ()
        return arrangements(shape, wanted) if self.anything else channel_moves(shape, wanted)


def spread_through(moved: Rearrangement, spread: Spread) -> Spread:
    """A spread rearranged with its tensor."""
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


def seen_through(moved: Rearrangement, evidence: Evidence) -> Evidence:
    """Everything known of an output, rearranged."""

    def array(given: Array | None) -> Array | None:
        return None if given is None else moved.array(given)

    def spread(given: Spread | None) -> Spread | None:
        return None if given is None else spread_through(moved, given)

    return replace(
        evidence,
        run=array(evidence.run),
        meaning=array(evidence.meaning),
        rounding=spread(evidence.rounding),
        execution=spread(evidence.execution),
        unoptimized_outputs=lambda: array(evidence.unoptimized_outputs()),
    )


def rearrangement(
    reference: Evidence, candidate: Evidence, allowed: Arrangeable, false_alarm: float
) -> Rearrangement | None:
    """The one allowed rearrangement under which the candidate's values are the reference's."""
    ref = reference.meaning if reference.meaning is not None else reference.run
    cand = candidate.meaning if candidate.meaning is not None else candidate.run
    if ref is None or cand is None or ref.size != cand.size:
        return None
    tried = allowed.ways(candidate.name, tuple(cand.shape), tuple(ref.shape))
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
    through = seen_through(moved, candidate)
    ref = reference.meaning if reference.meaning is not None else reference.run
    cand = through.meaning if through.meaning is not None else through.run
    if ref is None or cand is None:
        return False
    spread = merged(reference.rounding, through.rounding)
    part = judge(cand, ref, spread, dtype="float32", derivation="", false_alarm=false_alarm)
    return part.budget.ratio is not None and part.budget.ratio <= 1.0
